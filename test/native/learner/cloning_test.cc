// Equation 4 in cases that are worked out by hand: one observation, one action, an actor whose evaluation
// action is 0 and critics that are Q(o, a) = max(0, a + 1).
#include <gtest/gtest.h>

#include <algorithm>

#include "fixture.h"

namespace surgiclaw::learner {
namespace {

Options handOptions() {
  Options options;
  options.observationSize = 1;
  options.actionSize = 1;
  options.hidden = {16};
  options.batch = 64;
  options.learningRate = 0;
  options.bankFraction = 1;
  return options;
}

struct HandRow {
  float action;
  float weight;
};

std::unique_ptr<SacLearner> handLearner(const Options& options, const std::vector<HandRow>& rows) {
  auto learner = std::make_unique<SacLearner>(options);
  std::fill_n(learner->actorParameters(), learner->actorNetwork().parameterCount(), 0.0F);
  const Layer& first = learner->criticNetwork().layers()[0];
  const Layer& last = learner->criticNetwork().layers()[1];
  for (int which = 0; which < 2; ++which) {
    float* q = learner->criticParameters(which);
    std::fill_n(q, learner->criticNetwork().parameterCount(), 0.0F);
    q[first.offset + static_cast<std::size_t>(1 * first.stride)] = 1;  // the action
    q[first.offset + static_cast<std::size_t>(2 * first.stride)] = 1;  // the bias
    q[last.offset] = 1;
  }
  Data data(static_cast<int>(rows.size()), 1, 1, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    data.actions[i] = rows[i].action;
    data.weights[i] = rows[i].weight;
  }
  learner->setBank(data.block(), data.weights, data.probabilities);
  return learner;
}

int countOf(const SacLearner& learner, float action) {
  const MinibatchView m = learner.minibatch();
  return static_cast<int>(std::count(m.actions, m.actions + m.rows, action));
}

// Q(0.5) = 1.5 and Q(0) = 1 are at least Q(a_eval) = 1: kept, the second by the tie. Q(-0.5) = 0.5 is not.
// l = a^2: 0.25, 0, 0.25. L = (n1 * 1 * 0.25 + n2 * 0.25 * 0) / (n1 * 1 + n2 * 0.25).
TEST(Cloning, KeepsWhatTheCriticsPreferAndTies) {
  const auto learner = handLearner(handOptions(), {{0.5F, 1}, {0, 0.25F}, {-0.5F, 0.5F}});
  const UpdateReport report = learner->update(1);
  const double better = countOf(*learner, 0.5F);
  const double tie = countOf(*learner, 0);
  ASSERT_GT(better, 0);
  ASSERT_GT(tie, 0);
  ASSERT_GT(countOf(*learner, -0.5F), 0);
  EXPECT_NEAR(report.kept, (better + tie) / 64, 1e-12);
  EXPECT_NEAR(report.cloningLoss, better * 0.25 / (better + tie * 0.25), 1e-6);
}

TEST(Cloning, WithoutTheFilterEverySampleCounts) {
  Options options = handOptions();
  options.qFilter = false;
  const auto learner = handLearner(options, {{0.5F, 1}, {-0.5F, 0.5F}, {1, 0.5F}});
  const UpdateReport report = learner->update(1);
  const double half = countOf(*learner, 0.5F);
  const double back = countOf(*learner, -0.5F);
  const double one = countOf(*learner, 1);
  EXPECT_EQ(report.kept, 1);
  EXPECT_NEAR(report.cloningLoss,
              (half * 0.25 + back * 0.5 * 0.25 + one * 0.5) / (half + back * 0.5 + one * 0.5), 1e-6);
}

TEST(Cloning, IsLeftOutWhenNothingIsKept) {
  const auto learner = handLearner(handOptions(), {{-0.5F, 1}, {-0.25F, 1}});
  const UpdateReport report = learner->update(1);
  EXPECT_EQ(report.kept, 0);
  EXPECT_EQ(report.cloningLoss, 0);
  Options without = handOptions();
  without.cloningWeight = 0;
  const auto plain = handLearner(without, {{-0.5F, 1}, {-0.25F, 1}});
  plain->update(1);
  const std::size_t count = plain->actorNetwork().parameterCount();
  EXPECT_TRUE(
      std::equal(learner->actorGradients(), learner->actorGradients() + count, plain->actorGradients()));
}

TEST(Cloning, IsLeftOutWhenWhatIsKeptHasNoWeight) {
  const auto learner = handLearner(handOptions(), {{0.5F, 0}, {-0.5F, 1}});
  EXPECT_EQ(learner->update(1).cloningLoss, 0);
}

TEST(Cloning, WarmStartAsksNoCritic) {
  const auto learner = handLearner(handOptions(), {{-0.5F, 1}, {-0.25F, 0.5F}});
  const UpdateReport report = learner->clone(1);
  const double half = countOf(*learner, -0.5F);
  const double quarter = countOf(*learner, -0.25F);
  EXPECT_EQ(report.kept, 1);
  EXPECT_NEAR(report.cloningLoss, (half * 0.25 + quarter * 0.5 * 0.0625) / (half + quarter * 0.5), 1e-6);
}

}  // namespace
}  // namespace surgiclaw::learner
