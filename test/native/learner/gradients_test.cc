// Analytic gradients of the learner against numerical derivatives of losses that are written down in
// reference.h.
#include <gtest/gtest.h>

#include "fixture.h"
#include "reference.h"

namespace surgiclaw::learner {
namespace {

using reference::Nets;
using reference::Row;
using reference::Vector;

/// With a rate of 0 an update computes everything and changes nothing.
Options still() {
  Options options = smallOptions();
  options.learningRate = 0;
  options.targetRate = 0;
  options.temperature = 0.3;
  return options;
}

/// Every few parameters; padding is left out.
std::vector<std::size_t> someParameters(const Network& network) {
  std::vector<std::size_t> indices;
  for (const Layer& layer : network.layers())
    for (int row = 0; row <= layer.inputs; row += 3)
      for (int column = row % 2; column < layer.outputs; column += 5)
        indices.push_back(layer.offset + static_cast<std::size_t>(row * layer.stride + column));
  return indices;
}

template <typename Loss>
void expectGradient(const float* analytic, const Vector& parameters, std::size_t offset,
                    const Network& network, const Loss& loss) {
  double largest = 0;
  for (const std::size_t index : someParameters(network)) {
    const double wanted = reference::slope(parameters, offset + index, loss);
    largest = std::max(largest, std::abs(wanted));
    EXPECT_NEAR(analytic[index], wanted, 2e-6 + 2e-4 * std::abs(wanted)) << "parameter " << index;
  }
  EXPECT_GT(largest, 1e-3) << "the test sees no gradient";
}

class Gradients : public testing::TestWithParam<bool> {};

TEST_P(Gradients, OfBothCriticsAreNumericallyRight) {
  Options options = still();
  options.bootstrapAtDone = GetParam();
  const auto learner = filledLearner(options);
  const Nets nets(*learner);
  learner->update(1);
  const std::vector<Row> rows = reference::rowsOf(*learner);
  const auto loss = [&](const Vector& critics) { return reference::criticLoss(nets, critics, rows); };
  for (int which = 0; which < 2; ++which)
    expectGradient(learner->criticGradients(which), nets.critics, which * nets.criticNetwork.parameterCount(),
                   nets.criticNetwork, loss);
}

TEST_P(Gradients, OfTheActorAreNumericallyRight) {
  Options options = still();
  options.qFilter = GetParam();
  const auto learner = filledLearner(options);
  const Nets nets(*learner);
  const UpdateReport report = learner->update(1);
  const std::vector<Row> rows = reference::rowsOf(*learner);
  const auto chi = reference::kept(nets, rows, learner->minibatch().bankRows, options.qFilter);
  const auto loss = [&](const Vector& actor) { return reference::actorLoss(nets, actor, rows, chi); };
  EXPECT_NEAR(report.actorLoss, loss(nets.actor), 1e-5);
  EXPECT_NEAR(report.cloningLoss, reference::cloningLoss(nets, nets.actor, rows, chi), 1e-6);
  expectGradient(learner->actorGradients(), nets.actor, 0, nets.actorNetwork, loss);
}

INSTANTIATE_TEST_SUITE_P(Switch, Gradients, testing::Bool());

TEST(Gradients, OfCloningAloneAreNumericallyRight) {
  const auto learner = filledLearner(still());
  const Nets nets(*learner);
  const UpdateReport report = learner->clone(1);
  const std::vector<Row> rows = reference::rowsOf(*learner);
  const std::vector<bool> all(rows.size(), true);
  const auto loss = [&](const Vector& actor) { return reference::cloningLoss(nets, actor, rows, all); };
  EXPECT_NEAR(report.cloningLoss, loss(nets.actor), 1e-6);
  EXPECT_EQ(report.kept, 1);
  expectGradient(learner->actorGradients(), nets.actor, 0, nets.actorNetwork, loss);
}

// -d/d(log alpha) [log alpha * mean(log pi - d_a)], and one step of Adam from zero: the rate, against the
// gradient's sign.
TEST(Gradients, OfTheTemperatureAreNumericallyRight) {
  const auto learner = filledLearner(still());
  const Nets nets(*learner);
  learner->update(1);
  double mean = 0;
  const std::vector<Row> rows = reference::rowsOf(*learner);
  for (const Row& row : rows)
    mean += reference::act(nets, nets.actor, row.observation, row.noise).logDensity /
            static_cast<double>(rows.size());
  EXPECT_NEAR(learner->temperatureGradient(), -(mean - 3), 1e-5);

  Options moving = still();
  moving.learningRate = 1e-3;
  const auto other = filledLearner(moving);
  const double before = other->logTemperature();
  other->update(1);
  EXPECT_NEAR(before - other->logTemperature(), other->temperatureGradient() > 0 ? 1e-3 : -1e-3, 1e-8);
}

}  // namespace
}  // namespace surgiclaw::learner
