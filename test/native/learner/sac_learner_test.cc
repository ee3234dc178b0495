#include "surgiclaw/learner/sac_learner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "fixture.h"
#include "surgiclaw/learner/error.h"

namespace {
std::atomic<long> allocations{0};
}

// Counts every allocation of this program.
__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace surgiclaw::learner {
namespace {

std::vector<float> actorOf(const SacLearner& learner) {
  const float* from = learner.actorParameters();
  return {from, from + learner.actorNetwork().parameterCount()};
}

TEST(SacLearner, MixesTheFixedShareOfThePublishedBatch) {
  Options options = smallOptions();
  options.batch = 256;
  const auto learner = filledLearner(options);
  learner->update(1);
  EXPECT_EQ(learner->minibatch().bankRows, 154);  // 0.6 * 256 = 153.6
}

TEST(SacLearner, MixesByDrawWhenAsked) {
  Options options = smallOptions();
  options.batch = 256;
  options.binomialMix = true;
  options.learningRate = 0;
  const auto learner = filledLearner(options);
  double sum = 0;
  double squares = 0;
  constexpr int kTimes = 400;
  for (int i = 0; i < kTimes; ++i) {
    learner->update(1);
    const double rows = learner->minibatch().bankRows;
    sum += rows;
    squares += rows * rows;
  }
  const double mean = sum / kTimes;
  EXPECT_NEAR(mean, 153.6, 2);                                       // sd of the mean 0.39
  EXPECT_NEAR(squares / kTimes - mean * mean, 256 * 0.6 * 0.4, 16);  // sd 4.3
}

TEST(SacLearner, TargetsFollowAtTheirRate) {
  const auto learner = filledLearner(smallOptions());
  const std::size_t count = 2 * learner->criticNetwork().parameterCount();
  const std::vector<float> before(learner->targetParameters(0), learner->targetParameters(0) + count);
  learner->update(1);
  double moved = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = 0.99 * before[i] + 0.01 * learner->criticParameters(0)[i];
    moved = std::max(moved, std::abs(wanted - before[i]));
    ASSERT_NEAR(learner->targetParameters(0)[i], wanted, 1e-7);
  }
  EXPECT_GT(moved, 1e-6);
}

TEST(SacLearner, TheSameSeedGivesTheSameBitsAndAnotherDoesNot) {
  const auto one = filledLearner(smallOptions());
  const auto two = filledLearner(smallOptions());
  Options options = smallOptions();
  options.seed = 5;
  const auto other = filledLearner(options);
  for (const auto& learner : {one.get(), two.get(), other.get()}) learner->update(20);
  EXPECT_EQ(actorOf(*one), actorOf(*two));
  EXPECT_NE(actorOf(*one), actorOf(*other));
}

TEST(SacLearner, WideVectorsGiveTheSameBits) {
  const auto trained = [](const char* instructionSet) {
    Options options = smallOptions();
    options.instructionSet = instructionSet;
    const auto learner = filledLearner(options);
    learner->clone(5);
    learner->update(20);
    return learner->save();
  };
  try {
    kernels("avx512");
  } catch (const LearnerError&) {
    GTEST_SKIP() << "no AVX-512 here";
  }
  EXPECT_EQ(trained("avx512"), trained("avx2"));
}

TEST(SacLearner, GoesOnFromACheckpointToTheSameBits) {
  const Data more(30, 5, 3, 7);
  std::vector<float> actions(30 * 3);
  const auto goOn = [&](SacLearner& learner) {
    learner.act(more.observations.data(), 30, ActMode::kExplore, actions.data());
    learner.store(more.block());
    learner.update(7);
    return learner.save();
  };
  const auto whole = filledLearner(smallOptions());
  whole->clone(3);
  whole->update(5);
  const std::vector<std::uint8_t> saved = whole->save();
  const std::vector<std::uint8_t> wanted = goOn(*whole);

  SacLearner resumed(smallOptions());
  const Data bank(40, 5, 3, 1);
  resumed.setBank(bank.block(), bank.weights, bank.probabilities);
  resumed.restore(saved.data(), saved.size());
  EXPECT_EQ(goOn(resumed), wanted);
}

TEST(SacLearner, RefusesADamagedOrForeignCheckpoint) {
  const auto learner = filledLearner(smallOptions());
  std::vector<std::uint8_t> saved = learner->save();
  SacLearner bankless(smallOptions());
  EXPECT_THROW(bankless.restore(saved.data(), saved.size()), LearnerError);
  saved[saved.size() / 2] ^= 1;
  EXPECT_THROW(learner->restore(saved.data(), saved.size()), LearnerError);
  EXPECT_THROW(learner->restore(saved.data(), 5), LearnerError);
}

TEST(SacLearner, AnUpdateAllocatesNothing) {
  const auto learner = filledLearner(smallOptions());
  learner->clone(1);
  learner->update(1);
  const long before = allocations;
  learner->clone(2);
  learner->update(3);
  EXPECT_EQ(allocations, before);
}

TEST(SacLearner, TheRingKeepsTheNewest) {
  Options options = smallOptions();
  options.ringCapacity = 8;
  SacLearner learner(options);
  Data data(20, 5, 3, 1);
  for (std::size_t i = 0; i < 20; ++i) data.rewards[i] = static_cast<float>(i);
  learner.store(data.block());
  EXPECT_EQ(learner.stored(), 8);
  learner.update(4);
  const MinibatchView m = learner.minibatch();
  for (int row = 0; row < m.rows; ++row) EXPECT_GE(m.rewards[row], 12);
}

TEST(SacLearner, NormalisesWhatItSees) {
  SacLearner learner(smallOptions());
  learner.setNormaliser({1, 0, 0, 0, 0}, {2, 1, 1, 1, 1});
  Data data(1, 5, 3, 1);
  data.observations = {3, 0.5F, -100, 0, 0};
  learner.store(data.block());
  learner.update(1);
  const float* seen = learner.minibatch().observations;
  EXPECT_EQ(seen[0], 4);
  EXPECT_EQ(seen[1], 0.5F);
  EXPECT_EQ(seen[2], -10);
  EXPECT_THROW(learner.setNormaliser({0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}), LearnerError);
}

TEST(SacLearner, ExplorationHasTheSpreadOfItsHead) {
  Options options = smallOptions();
  SacLearner learner(options);
  const std::vector<float> observation(5, 0.1F);
  std::vector<float> evaluated(3);
  learner.act(observation.data(), 1, ActMode::kEvaluate, evaluated.data());
  std::vector<float> same(3);
  learner.act(observation.data(), 1, ActMode::kEvaluate, same.data());
  EXPECT_EQ(evaluated, same);
  constexpr int kTimes = 4000;
  double mean[3] = {};
  for (int i = 0; i < kTimes; ++i) {
    std::vector<float> drawn(3);
    learner.act(observation.data(), 1, ActMode::kExplore, drawn.data());
    for (int a = 0; a < 3; ++a) mean[a] += std::atanh(drawn[a]) / kTimes;
  }
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(mean[a], std::atanh(evaluated[a]), 0.05);
}

TEST(SacLearner, RefusesWhatIsNotFiniteByRow) {
  SacLearner learner(smallOptions());
  Data data(4, 5, 3, 1);
  data.observations[2 * 5 + 1] = std::numeric_limits<float>::quiet_NaN();
  try {
    learner.store(data.block());
    FAIL() << "stored NaN";
  } catch (const LearnerError& error) {
    EXPECT_STREQ(error.what(), "observation of row 2, value 1, is not finite");
  }
  EXPECT_EQ(learner.stored(), 0);
  std::vector<float> actions(12);
  EXPECT_THROW(learner.act(data.observations.data(), 4, ActMode::kUniform, actions.data()), LearnerError);
}

TEST(SacLearner, RefusesUpdatesFromNothingAndOptionsOutOfRange) {
  SacLearner learner(smallOptions());
  EXPECT_THROW(learner.update(1), LearnerError);
  EXPECT_THROW(learner.clone(1), LearnerError);
  Options options = smallOptions();
  options.hidden = {20};
  EXPECT_THROW(SacLearner{options}, LearnerError);
  options = smallOptions();
  options.gamma = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(SacLearner{options}, LearnerError);
}

}  // namespace
}  // namespace surgiclaw::learner
