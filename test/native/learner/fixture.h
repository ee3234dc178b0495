// A small learner with random data in ring and bank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "surgiclaw/learner/random.h"
#include "surgiclaw/learner/sac_learner.h"

namespace surgiclaw::learner {

struct Data {
  Data(int rows, int observationSize, int actionSize, std::uint32_t stream)
      : observations(static_cast<std::size_t>(rows * observationSize)),
        nextObservations(observations.size()),
        actions(static_cast<std::size_t>(rows * actionSize)),
        rewards(static_cast<std::size_t>(rows)),
        terminals(static_cast<std::size_t>(rows)) {
    Random random(99, stream);
    random.normals(observations.data(), observations.size());
    random.normals(nextObservations.data(), nextObservations.size());
    for (float& action : actions) action = 2 * random.uniform() - 1;
    for (float& reward : rewards) reward = random.uniform();
    for (std::uint8_t& terminal : terminals) terminal = random.uniform() < 0.2F ? 1 : 0;
    for (int row = 0; row < rows; ++row) {
      weights.push_back(random.uniform());
      probabilities.push_back(0.5 + random.uniform());
    }
  }
  TransitionBlock block() const {
    return {rewards.size(),          observations.data(), actions.data(),
            nextObservations.data(), rewards.data(),      terminals.data()};
  }
  std::vector<float> observations;
  std::vector<float> nextObservations;
  std::vector<float> actions;
  std::vector<float> rewards;
  std::vector<std::uint8_t> terminals;
  std::vector<float> weights;
  std::vector<double> probabilities;
};

inline Options smallOptions() {
  Options options;
  options.observationSize = 5;
  options.actionSize = 3;
  options.hidden = {32, 16};
  options.batch = 24;
  options.ringCapacity = 64;
  options.seed = 4;
  return options;
}

inline std::unique_ptr<SacLearner> filledLearner(const Options& options) {
  auto learner = std::make_unique<SacLearner>(options);
  const Data bank(40, options.observationSize, options.actionSize, 1);
  learner->setBank(bank.block(), bank.weights, bank.probabilities);
  learner->store(Data(50, options.observationSize, options.actionSize, 2).block());
  return learner;
}

}  // namespace surgiclaw::learner
