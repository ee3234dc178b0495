// Soft actor-critic with a frozen bank beside the online ring, and weighted, Q-filtered cloning in the
// actor's loss (Phase-and-First-Arrival, equations 4 and 5).
//
//   y        = r + gamma (1 - b) (min over targets of Q'(o', a') - alpha log pi(a'|o')),  r credited on the
//   bank L_critic = sum over both critics of mean (Q - y)^2 / 2 (4) L_BC = sum chi w l / sum chi w over the
//   bank's rows, l = |a_eval(o) - a|^2 / d_a,
//              chi = 1 where Qmin(o, a) >= Qmin(o, a_eval(o)); left out when the denominator is 0
//   (5) L_actor = mean(alpha log pi - Qmin(o, a_pi)) + lambda_BC L_BC
//   temperature: gradient of -log alpha * mean(log pi + target), target = -d_a
//
// Nothing is allocated by an update. The same options, calls and instruction set give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "surgiclaw/learner/kernels.h"
#include "surgiclaw/learner/network.h"
#include "surgiclaw/learner/options.h"
#include "surgiclaw/learner/random.h"
#include "surgiclaw/learner/replay.h"

namespace surgiclaw::learner {

/// `count` transitions, row-major; everything must be finite.
struct TransitionBlock {
  std::size_t count = 0;
  const float* observations = nullptr;
  const float* actions = nullptr;
  const float* nextObservations = nullptr;
  const float* rewards = nullptr;
  const std::uint8_t* terminals = nullptr;
};

enum class ActMode {
  /// tanh of the mean.
  kEvaluate,
  /// Drawn from the policy.
  kExplore,
  /// Uniform in [-1, 1], whatever the policy.
  kUniform,
};

/// Means over the updates of one call.
struct UpdateReport {
  double criticLoss = 0;
  double actorLoss = 0;
  double cloningLoss = 0;
  /// Share of the bank's rows whose sample the critics hold at least as good as the policy.
  double kept = 0;
  double temperature = 0;
  double entropy = 0;
  double meanQ = 0;
};

/// The minibatch of the last update as it was used, for tests.
struct MinibatchView {
  int rows;
  int bankRows;
  int observationStride;
  const float* observations;
  const float* nextObservations;
  /// [rows][actionSize].
  const float* actions;
  const float* rewards;
  const float* terminals;
  const float* weights;
  /// Noise of the action behind the step and of the action at it, [rows][actionSize].
  const float* nextNoise;
  const float* noise;
};

class SacLearner {
 public:
  /// @throws LearnerError (kOptions)
  explicit SacLearner(const Options& options);
  ~SacLearner();
  SacLearner(const SacLearner&) = delete;
  SacLearner& operator=(const SacLearner&) = delete;

  const Options& options() const { return options_; }
  const char* instructionSet() const { return kernels_.name; }

  /// Observations are shifted and scaled before anything else sees them: (o - mean) * scale, held within
  /// +-10. Before the first transition only. @throws LearnerError
  void setNormaliser(const std::vector<float>& mean, const std::vector<float>& scale);
  /// @throws LearnerError (kData) that names row and column
  void setBank(const TransitionBlock& block, const std::vector<float>& weights,
               const std::vector<double>& probabilities);
  /// Puts transitions into the ring. @throws LearnerError (kData)
  void store(const TransitionBlock& block);
  int stored() const { return ring_.size(); }
  int bankSize() const { return bank_ == nullptr ? 0 : bank_->rows.capacity(); }

  /// Actions for `count` observations into `actions`. @throws LearnerError (kData) for an observation that is
  /// not finite
  void act(const float* observations, std::size_t count, ActMode mode, float* actions);

  /// Equation 4 alone with chi = 1, on minibatches of the bank. @throws LearnerError (kState) without a bank
  UpdateReport clone(int updates);
  /// @throws LearnerError (kState) while the ring is empty and the bank does not fill the minibatch
  UpdateReport update(int updates);

  /// Everything but options, normaliser and bank: what is given to a new learner again before `restore`.
  std::vector<std::uint8_t> save() const;
  /// Continues to the bitwise same result. @throws LearnerError (kCheckpoint)
  void restore(const std::uint8_t* data, std::size_t size);

  // What tests and exports look at.
  const Network& actorNetwork() const { return actorNetwork_; }
  const Network& criticNetwork() const { return criticNetwork_; }
  const float* actorParameters() const { return actor_.parameters.data(); }
  float* actorParameters() { return actor_.parameters.data(); }
  const float* actorGradients() const { return actor_.gradients.data(); }
  /// @param which 0 or 1
  float* criticParameters(int which) {
    return critics_.parameters.data() + which * criticNetwork_.parameterCount();
  }
  const float* criticGradients(int which) const {
    return critics_.gradients.data() + which * criticNetwork_.parameterCount();
  }
  float* targetParameters(int which) { return targets_.data() + which * criticNetwork_.parameterCount(); }
  double logTemperature() const { return logTemperature_; }
  /// Of the last update, with respect to log alpha.
  double temperatureGradient() const { return temperatureGradient_; }
  MinibatchView minibatch() const;
  const std::vector<float>& normaliserMean() const { return mean_; }
  const std::vector<float>& normaliserScale() const { return scale_; }

 private:
  /// Parameters with what AdamW remembers of them.
  struct Trained {
    explicit Trained(std::size_t count)
        : parameters(count), gradients(count), firstMoments(count), secondMoments(count) {}
    Floats parameters;
    Floats gradients;
    Floats firstMoments;
    Floats secondMoments;
    std::uint64_t steps = 0;
  };
  struct Workspace;

  void step(Trained& trained, double rate) const;
  void normalise(const float* observation, float* into) const;
  void putNormalised(Transitions& rows, int row, const TransitionBlock& block, std::size_t index,
                     float weight);
  void checkFinite(const float* values, std::size_t count, std::size_t width, const char* what) const;
  void drawMinibatch(int bankRows);
  int drawBankRows();
  void updateCritics(UpdateReport& report);
  void updateActor(UpdateReport& report);
  /// Adds the gradient of `weightOfLoss` times equation 4 to the actor's; returns the loss.
  double filteredCloning(double weightOfLoss, bool filter, double* kept);
  void tuneTemperature(double meanLogDensity);
  static UpdateReport mean(UpdateReport sum, int updates);

  Options options_;
  const Kernels& kernels_;
  Network actorNetwork_;
  Network criticNetwork_;
  std::vector<float> mean_;
  std::vector<float> scale_;
  ReplayRing ring_;
  std::unique_ptr<Bank> bank_;
  Trained actor_;
  Trained critics_;
  Floats targets_;
  double logTemperature_;
  double temperatureMoment1_ = 0;
  double temperatureMoment2_ = 0;
  std::uint64_t temperatureSteps_ = 0;
  double temperatureGradient_ = 0;
  Random drawRandom_;
  Random noiseRandom_;
  Random actRandom_;
  std::unique_ptr<Workspace> work_;
};

}  // namespace surgiclaw::learner
