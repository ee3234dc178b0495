#include "surgiclaw/servo/control_law.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "surgiclaw/servo/envelope.h"

namespace surgiclaw::servo {
namespace {

LawOptions plain(double maxStep = 1e6) {
  LawOptions options;
  options.gain = 1;
  options.maxStepPulses = maxStep;
  return options;
}

TEST(ControlStep, solvesAHandMadeCase) {
  // Axis a moves u1 by 2 px, axis b moves v1 and v2 by 1 px each: a = -20/2; b is the mean of what the two
  // ask.
  ImageJacobian jacobian(4, 2);
  jacobian << 2, 0, 0, 1, 0, 0, 0, 1;
  ImageError error;
  error << 20, 6, 0, 10;
  const LawStep step = controlStep(jacobian, error, error, plain());
  ASSERT_TRUE(step.ok) << step.reason;
  EXPECT_EQ(step.deltaPulses, (std::vector<int32_t>{-10, -8}));
  EXPECT_EQ(step.scale, 1);
}

TEST(ControlStep, agreesWithTheNormalEquations) {
  // Three axes seen by two views, each 0.5 µm a pulse at 1.171875 µm a pixel; the normal equations solved
  // apart.
  ImageJacobian jacobian(4, 3);
  jacobian << 0.36, -0.21, 0.02, 0.12, 0.20, 0.35, -0.37, -0.22, -0.01, 0.11, -0.21, 0.35;
  ImageError error;
  error << 123, -45, 60, 210;
  const Eigen::Matrix<double, 4, 3> fixed = jacobian;
  const Eigen::Vector3d expected = -(fixed.transpose() * fixed).inverse() * fixed.transpose() * error;
  const LawStep step = controlStep(jacobian, error, error, plain());
  ASSERT_TRUE(step.ok) << step.reason;
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(step.deltaPulses[static_cast<size_t>(i)], expected(i), 0.5);
}

TEST(ControlStep, shortensAStepAsAWhole) {
  ImageJacobian jacobian(4, 2);
  jacobian << 1, 0, 0, 1, 0, 0, 0, 0;
  ImageError error;
  error << -400, 100, 0, 0;
  const LawStep step = controlStep(jacobian, error, error, plain(200));
  EXPECT_EQ(step.deltaPulses, (std::vector<int32_t>{200, -50}));
  EXPECT_DOUBLE_EQ(step.scale, 0.5);
}

TEST(ControlStep, weighsChangeAndError) {
  // One axis, 1 px a pulse in u1 alone: du = -(Kp (e - e_previous) + Ki e) = -(0.5 * (8 - 20) + 0.75 * 8) =
  // 0.
  ImageJacobian jacobian(4, 1);
  jacobian << 1, 0, 0, 0;
  ImageError now = ImageError::Zero();
  ImageError before = ImageError::Zero();
  now(0) = 8;
  before(0) = 20;
  LawOptions options = plain();
  options.gain = 0.75;
  options.proportional = 0.5;
  EXPECT_EQ(controlStep(jacobian, now, before, options).deltaPulses, (std::vector<int32_t>{0}));
  before(0) = 0;
  EXPECT_EQ(controlStep(jacobian, now, before, options).deltaPulses, (std::vector<int32_t>{-10}));
}

TEST(ControlStep, refusesWhatIsNotFiniteOrNotDetermined) {
  ImageJacobian jacobian(4, 2);
  jacobian << 1, 2, 2, 4, 3, 6, 4, 8;  // two axes that look alike
  ImageError error = ImageError::Ones();
  EXPECT_FALSE(controlStep(jacobian, error, error, plain()).ok);
  jacobian << 1, 0, 0, 1, 0, 0, 0, 0;
  error(3) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(controlStep(jacobian, error, error, plain()).ok);
  error(3) = 0;
  jacobian(0, 0) = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(controlStep(jacobian, error, error, plain()).ok);
  jacobian.setZero();
  EXPECT_FALSE(controlStep(jacobian, error, error, plain()).ok);
}

TEST(Broyden, explainsTheLastMoveAndNothingElse) {
  ImageJacobian jacobian(4, 2);
  jacobian << 1, 0, 0, 1, 1, 0, 0, 1;
  AxisVector moved(2);
  moved << 100, 0;
  ImageError seen;
  seen << 110, 5, 95, 0;
  const ImageJacobian updated = broydenUpdate(jacobian, moved, seen, 10);
  EXPECT_NEAR((updated * moved - seen).norm(), 0, 1e-9);  // the secant equation
  EXPECT_EQ(updated.col(1), jacobian.col(1));             // the axis that stood still keeps its column
  EXPECT_EQ(broydenUpdate(jacobian, moved, seen, 1000), jacobian);
  EXPECT_EQ(broydenUpdate(jacobian, moved, -seen, 10), jacobian);
}

TEST(ProgressMonitor, stallsWhenTheErrorStaysAndGoesOnWhileItShrinks) {
  using Verdict = ProgressMonitor::Verdict;
  ProgressMonitor good(0.7, 3, 2);
  for (double error = 400; error > 3; error *= 0.5) EXPECT_EQ(good.add(error, 1, 0.9), Verdict::kGoOn);
  ProgressMonitor stuck(0.7, 3, 2);
  EXPECT_EQ(stuck.add(50, 1, 0.9), Verdict::kGoOn);
  EXPECT_EQ(stuck.add(49, 1, 0.9), Verdict::kGoOn);
  EXPECT_EQ(stuck.add(48, 1, 0.9), Verdict::kGoOn);
  EXPECT_EQ(stuck.add(47, 1, 0.9), Verdict::kStalled);
}

TEST(ProgressMonitor, asksShortenedStepsOnlyForWhatTheyPromise) {
  // Clamped steps of 100 px from 1000 px: 1000, 910, 820, 730 — slower than the factor 0.5, and yet as
  // promised.
  ProgressMonitor monitor(0.5, 3, 2);
  for (const double error : {1000.0, 910.0, 820.0, 730.0}) {
    EXPECT_EQ(monitor.add(error, 100 / error, 0.9), ProgressMonitor::Verdict::kGoOn) << error;
  }
}

TEST(ProgressMonitor, seesGrowthBeforeTheStallWindowEnds) {
  ProgressMonitor monitor(0.7, 10, 2);
  EXPECT_EQ(monitor.add(100, 1, 0.9), ProgressMonitor::Verdict::kGoOn);
  EXPECT_EQ(monitor.add(190, 1, 0.9), ProgressMonitor::Verdict::kGoOn);
  EXPECT_EQ(monitor.add(361, 1, 0.9), ProgressMonitor::Verdict::kDiverging);
}

using Legs = std::vector<int32_t>;

TEST(ApproachLegs, endsAlwaysInTheApproachDirection) {
  EXPECT_EQ(approachLegs(100, 100, 1, 10, true, -1000, 1000), Legs{});
  EXPECT_EQ(approachLegs(100, 105, 1, 10, true, -1000, 1000), (Legs{105}));  // already coming that way
  EXPECT_EQ(approachLegs(100, 105, 1, 10, false, -1000, 1000),
            (Legs{95, 105}));  // the screw's side is unknown
  EXPECT_EQ(approachLegs(100, 150, 1, 10, false, -1000, 1000),
            (Legs{150}));  // long enough to take up the play
  EXPECT_EQ(approachLegs(100, 60, 1, 10, true, -1000, 1000), (Legs{50, 60}));
  EXPECT_EQ(approachLegs(100, 60, -1, 10, true, -1000, 1000), (Legs{60}));
  EXPECT_EQ(approachLegs(100, 105, -1, 10, true, -1000, 1000), (Legs{115, 105}));
  EXPECT_EQ(approachLegs(100, 60, 1, 10, true, 55, 1000), (Legs{55, 60}));  // never beyond a limit
  EXPECT_EQ(approachLegs(100, 60, 1, 0, true, -1000, 1000), (Legs{60}));    // no lost motion to care for
}

TEST(Envelope, namesAxisValueAndLimit) {
  const Envelope envelope({{1, -100, 100, 50}, {3, 0, 1000, 400}});
  EXPECT_EQ(envelope.refusal({0, 0}, {50, 400}), "");
  EXPECT_NE(envelope.refusal({0, 0}, {51, 0}).find("axis 1"), std::string::npos);
  EXPECT_NE(envelope.refusal({80, 0}, {101, 0}).find("101"), std::string::npos);
  EXPECT_NE(envelope.refusal({0, 0}, {0, -1}).find("axis 3"), std::string::npos);
  EXPECT_NE(envelope.refusal({0}, {0, 0}), "");
  // Differences that do not fit 32 bits are still differences.
  const Envelope wide({{1, INT32_MIN, INT32_MAX, 1000}});
  EXPECT_NE(wide.refusal({INT32_MIN}, {INT32_MAX}), "");
}

}  // namespace
}  // namespace surgiclaw::servo
