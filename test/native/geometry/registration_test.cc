#include "surgiclaw/geometry/registration.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <limits>
#include <random>

namespace surgiclaw::geometry {
namespace {

// skill-agent.md 13.2: the fiducials and target of its simulation.
const std::vector<Eigen::Vector3d> kFiducials = {{10, 0, 0},  {-10, 0, 0}, {0, 10, 0},
                                                 {0, -10, 3}, {5, 5, -4},  {-6, 3, 2}};
const Eigen::Vector3d kTarget(4, -3, 6);

RigidTransform someTransform() {
  RigidTransform transform;
  transform.R = (Eigen::AngleAxisd(0.7, Eigen::Vector3d(1, -2, 0.5).normalized())).toRotationMatrix();
  transform.t = {12, -5, 30};
  return transform;
}

std::vector<Eigen::Vector3d> moved(const std::vector<Eigen::Vector3d>& points,
                                   const RigidTransform& transform) {
  std::vector<Eigen::Vector3d> result;
  for (const auto& p : points) result.push_back(transform.apply(p));
  return result;
}

TEST(FitRigid, RecoversATransformExactly) {
  const RigidTransform truth = someTransform();
  const RigidFit fit = fitRigid(kFiducials, moved(kFiducials, truth));
  ASSERT_TRUE(fit.ok);
  EXPECT_LT((fit.targetFromSource.R - truth.R).norm(), 1e-12);
  EXPECT_LT((fit.targetFromSource.t - truth.t).norm(), 1e-11);
  EXPECT_LT(fit.fre, 1e-12);
}

TEST(FitRigid, ReturnsARotationForPlanarAndMirroredPoints) {
  std::vector<Eigen::Vector3d> plane = {{1, 0, 0}, {0, 1, 0}, {-1, -1, 0}, {2, 1, 0}};
  const RigidTransform truth = someTransform();
  const RigidFit planar = fitRigid(plane, moved(plane, truth));
  ASSERT_TRUE(planar.ok);
  EXPECT_NEAR(planar.targetFromSource.R.determinant(), 1, 1e-12);
  EXPECT_LT((planar.targetFromSource.R - truth.R).norm(), 1e-10);
  std::vector<Eigen::Vector3d> mirrored;
  for (const auto& p : kFiducials) mirrored.emplace_back(p.x(), p.y(), -p.z());
  const RigidFit guarded = fitRigid(kFiducials, mirrored);
  ASSERT_TRUE(guarded.ok);
  EXPECT_NEAR(guarded.targetFromSource.R.determinant(), 1, 1e-12) << "a reflection is no motion";
  EXPECT_GT(guarded.fre, 1);
}

TEST(FitRigid, RefusesDegenerateInput) {
  const std::vector<Eigen::Vector3d> line = {{0, 0, 0}, {1, 0, 0}, {2, 0.001, 0}, {5, 0, 0}};
  EXPECT_STREQ(fitRigid(line, line).reason, "points nearly collinear");
  const std::vector<Eigen::Vector3d> same(4, Eigen::Vector3d(1, 2, 3));
  EXPECT_FALSE(fitRigid(same, same).ok);
  const std::vector<Eigen::Vector3d> two = {{0, 0, 0}, {1, 0, 0}};
  EXPECT_STREQ(fitRigid(two, two).reason, "fewer than three points");
  EXPECT_FALSE(fitRigid(kFiducials, two).ok);
  auto broken = kFiducials;
  broken[2].y() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_STREQ(fitRigid(broken, kFiducials).reason, "values not finite");
}

TEST(ExpectedErrors, HaveThePublishedValues) {
  EXPECT_NEAR(expectedTre(0.3, kFiducials, kTarget), 0.1706, 5e-5);
  EXPECT_NEAR(expectedFre(0.3, 6), 0.2449, 5e-5);
  EXPECT_TRUE(std::isinf(expectedTre(0.3, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, kTarget)));
  EXPECT_EQ(expectedFre(0.3, 2), 0);
}

TEST(ExpectedErrors, MatchTheSimulation) {
  // Fitzpatrick & West: 20,000 draws at FLE 0.3 gave TRE 0.1703 and FRE 0.2450.
  std::mt19937 random(42);
  std::normal_distribution<double> noise(0, 0.3 / std::sqrt(3.0));
  const RigidTransform truth = someTransform();
  const std::vector<Eigen::Vector3d> clean = moved(kFiducials, truth);
  double freSquares = 0;
  double treSquares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<Eigen::Vector3d> seen = clean;
    for (auto& p : seen) p += Eigen::Vector3d(noise(random), noise(random), noise(random));
    const RigidFit fit = fitRigid(kFiducials, seen);
    ASSERT_TRUE(fit.ok);
    freSquares += fit.fre * fit.fre;
    const TargetErrors errors = targetErrors(fit.targetFromSource, {kTarget}, {truth.apply(kTarget)});
    ASSERT_TRUE(errors.ok);
    treSquares += errors.rms * errors.rms;
  }
  EXPECT_NEAR(std::sqrt(treSquares / kDraws), 0.1703, 0.0015);
  EXPECT_NEAR(std::sqrt(freSquares / kDraws), 0.2450, 0.0015);
}

TEST(TargetErrors, ByHand) {
  const TargetErrors errors = targetErrors({}, {{0, 0, 0}, {1, 0, 0}}, {{3, 4, 0}, {1, 0, 0}});
  ASSERT_TRUE(errors.ok);
  EXPECT_DOUBLE_EQ(errors.mean, 2.5);
  EXPECT_DOUBLE_EQ(errors.rms, std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(errors.max, 5);
  EXPECT_FALSE(targetErrors({}, {}, {}).ok) << "no held-out targets, no TRE";
}

}  // namespace
}  // namespace surgiclaw::geometry
