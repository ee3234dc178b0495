#include "surgiclaw/geometry/triangulation.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <limits>
#include <random>

namespace surgiclaw::geometry {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kDegree = kPi / 180;
constexpr double kScale = 2.4e-3 / 2048;

// A microscope at an azimuth and elevation about the world's origin, looking down at it, image x horizontal.
AffineCamera microscope(double azimuthDeg, double elevationDeg) {
  const double a = azimuthDeg * kDegree;
  const double e = elevationDeg * kDegree;
  const Eigen::Vector3d forward(-std::cos(e) * std::cos(a), -std::cos(e) * std::sin(a), -std::sin(e));
  const Eigen::Vector3d right = forward.cross(Eigen::Vector3d::UnitZ()).normalized();
  const Eigen::Vector3d down = forward.cross(right);
  Eigen::Matrix3d R;
  R << right.transpose(), down.transpose(), forward.transpose();
  return cameraFromPose(R, Eigen::Vector3d(0, 0, 3e-4), kScale, {1024, 1024});
}

TEST(CameraFromPose, IsTheWeakPerspectiveEquation) {
  const AffineCamera camera = microscope(30, 35);
  // The origin of the pose appears at the principal point; up in the world is up in the image, shortened by
  // cos 35°.
  EXPECT_LT((camera.project({0, 0, 3e-4}) - Eigen::Vector2d(1024, 1024)).norm(), 1e-9);
  const Eigen::Vector2d up = camera.project({0, 0, 4e-4}) - camera.project({0, 0, 3e-4});
  EXPECT_NEAR(up.x(), 0, 1e-9);
  EXPECT_NEAR(up.y(), -1e-4 * std::cos(35 * kDegree) / kScale, 1e-9);
  const Eigen::Vector3d axis = camera.opticalAxis();
  EXPECT_NEAR(axis.z(), -std::sin(35 * kDegree), 1e-12);
  EXPECT_NEAR((camera.A * axis).norm() * kScale, 0, 1e-12);
}

TEST(OpticalAxes, OfTheReferenceCellAreNearlyOrthogonal) {
  const double cosine = microscope(30, 35).opticalAxis().dot(microscope(150, 35).opticalAxis());
  // cos² 35° cos 120° + sin² 35°
  EXPECT_NEAR(std::acos(cosine) / kDegree, 90.37, 0.02);
}

TEST(Triangulate, RecoversPointsExactly) {
  const AffineCamera one = microscope(30, 35);
  const AffineCamera two = microscope(150, 35);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> metres(-1e-3, 1e-3);
  for (int i = 0; i < 20; ++i) {
    const Eigen::Vector3d point(metres(random), metres(random), metres(random));
    const PointEstimate estimate = triangulate(one, one.project(point), two, two.project(point));
    ASSERT_TRUE(estimate.ok);
    EXPECT_LT((estimate.point - point).norm(), 1e-12);
    EXPECT_LT(estimate.residualPx, 1e-8);
  }
}

TEST(Triangulate, ResidualShowsWhatTheViewsContradict) {
  const AffineCamera one = microscope(30, 35);
  const AffineCamera two = microscope(150, 35);
  const Eigen::Vector3d point(1e-4, -2e-4, 5e-5);
  const Eigen::Vector2d seen = one.project(point);
  // The two image rows that both views share a component with: the left null vector of the stacked system.
  Eigen::Matrix<double, 4, 3> stacked;
  stacked << one.A, two.A;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(stacked, Eigen::ComputeFullU);
  const Eigen::Vector4d contradiction = svd.matrixU().col(3);
  const double size = 3;
  const PointEstimate estimate = triangulate(one, seen + size * contradiction.head<2>(), two,
                                             two.project(point) + size * contradiction.tail<2>());
  ASSERT_TRUE(estimate.ok);
  EXPECT_NEAR(estimate.residualPx, size, 1e-9);
  EXPECT_LT((estimate.point - point).norm(), 1e-12) << "a pure contradiction moves no point";
}

TEST(Triangulate, CovariancePredictsTheScatter) {
  const AffineCamera one = microscope(30, 35);
  const AffineCamera two = microscope(150, 35);
  const Eigen::Vector3d point(0, 1e-4, 2e-4);
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 0.5);
  Eigen::Matrix3d scatter = Eigen::Matrix3d::Zero();
  Eigen::Matrix3d predicted = Eigen::Matrix3d::Zero();
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const Eigen::Vector2d a(noise(random), noise(random));
    const Eigen::Vector2d b(noise(random), noise(random));
    const PointEstimate estimate = triangulate(one, one.project(point) + a, two, two.project(point) + b);
    scatter += (estimate.point - point) * (estimate.point - point).transpose() / kDraws;
    predicted = estimate.covariancePerPx2 * 0.25;
  }
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(scatter(k, k) / predicted(k, k), 1, 0.1);
}

TEST(Triangulate, RefusesParallelAxesAndNonsense) {
  const AffineCamera one = microscope(30, 35);
  EXPECT_FALSE(triangulate(one, {1000, 1000}, microscope(32, 35), {1000, 1000}).ok);
  EXPECT_STREQ(triangulate(one, {1000, 1000}, one, {1000, 1000}).reason, "optical axes nearly parallel");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(triangulate(one, {nan, 1000}, microscope(150, 35), {1000, 1000}).ok);
}

TEST(AxisFromViews, RecoversDirectionWithSign) {
  const AffineCamera one = microscope(30, 35);
  const AffineCamera two = microscope(150, 35);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> tilt(-0.25, 0.25);
  for (int i = 0; i < 30; ++i) {
    const Eigen::Vector3d axis = Eigen::Vector3d(tilt(random), tilt(random), -1).normalized();
    const AxisEstimate estimate = axisFromViews(one, one.A * axis, two, two.A * axis);
    ASSERT_TRUE(estimate.ok);
    EXPECT_LT(axisAngle(estimate.axis, axis), 1e-9);
    EXPECT_GT(estimate.axis.dot(axis), 0) << "from shank to tip";
  }
}

TEST(AxisFromViews, IsIllPosedInThePlaneOfBothOpticalAxes) {
  const AffineCamera one = microscope(30, 35);
  const AffineCamera two = microscope(150, 35);
  const Eigen::Vector3d inPlane = (one.opticalAxis() + 0.7 * two.opticalAxis()).normalized();
  const AxisEstimate estimate = axisFromViews(one, one.A * inPlane, two, two.A * inPlane);
  EXPECT_FALSE(estimate.ok);
  EXPECT_TRUE(estimate.illPosed);
}

TEST(AxisFromViews, RefusesDirectionsThatContradict) {
  const AffineCamera one = microscope(30, 35);
  const AffineCamera two = microscope(150, 35);
  const Eigen::Vector3d axis(0.05, 0.02, -1);
  const AxisEstimate estimate = axisFromViews(one, one.A * axis, two, -(two.A * axis));
  EXPECT_FALSE(estimate.ok);
  EXPECT_FALSE(estimate.illPosed);
}

TEST(TiltFromSideViews, HasThePublishedValue) {
  // skill-agent.md 13.1: α = β = 1° gives 1.414°.
  EXPECT_NEAR(tiltFromSideViews(kDegree, kDegree) / kDegree, 1.414, 5e-4);
}

TEST(TiltFromSideViews, AgreesWithTheAxisOfOrthogonalSideViews) {
  // Two views along −x and −y, z up: the tilts seen are those of the projections.
  Eigen::Matrix3d alongX;
  alongX << 0, 1, 0, 0, 0, -1, -1, 0, 0;
  Eigen::Matrix3d alongY;
  alongY << -1, 0, 0, 0, 0, -1, 0, -1, 0;
  const AffineCamera one = cameraFromPose(alongX, Eigen::Vector3d::Zero(), kScale, {1024, 1024});
  const AffineCamera two = cameraFromPose(alongY, Eigen::Vector3d::Zero(), kScale, {1024, 1024});
  const double alpha = 3 * kDegree;
  const double beta = 2 * kDegree;
  const AxisEstimate estimate =
      axisFromViews(one, {std::sin(alpha), std::cos(alpha)}, two, {std::sin(beta), std::cos(beta)});
  ASSERT_TRUE(estimate.ok);
  EXPECT_NEAR(axisAngle(estimate.axis, Eigen::Vector3d::UnitZ()), tiltFromSideViews(alpha, beta), 1e-12);
}

TEST(AxisAngle, KeepsSmallAngles) {
  const Eigen::Vector3d turned(1e-9, 0, 1);
  EXPECT_NEAR(axisAngle(turned, Eigen::Vector3d::UnitZ()), 1e-9, 1e-15);
  EXPECT_NEAR(axisAngle(-turned, Eigen::Vector3d::UnitZ()), 1e-9, 1e-15) << "undirected";
}

TEST(LandingOnPlane, ByHand) {
  // From 1 mm above a plane at 45°: the tip goes straight down 1 mm.
  const Landing landing = landingOnPlane({0, 0, 1e-3}, {0, 0, -1}, {0, 0, 0}, {0, 1, 1});
  ASSERT_TRUE(landing.ok);
  EXPECT_LT(landing.point.norm(), 1e-15);
  EXPECT_NEAR(landing.distance, 1e-3, 1e-15);
  EXPECT_FALSE(landingOnPlane({0, 0, 1e-3}, {1, 0, 0}, {0, 0, 0}, {0, 0, 1}).ok) << "parallel";
}

TEST(FitAffineCamera, RecoversACameraAndItsResidual) {
  const AffineCamera truth = microscope(150, 35);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> metres(-5e-4, 5e-4);
  std::normal_distribution<double> noise(0, 0.3);
  std::vector<Eigen::Vector3d> points;
  std::vector<Eigen::Vector2d> pixels;
  for (int i = 0; i < 400; ++i) {
    points.emplace_back(metres(random), metres(random), metres(random));
    pixels.push_back(truth.project(points.back()) + Eigen::Vector2d(noise(random), noise(random)));
  }
  const AffineFit fit = fitAffineCamera(points, pixels);
  ASSERT_TRUE(fit.ok);
  // 8 parameters from 800 equations: RMS of the 2-D residual is σ √2 √(1 − 8/800).
  EXPECT_NEAR(fit.rmsPx, 0.3 * std::sqrt(2.0 * 0.99), 0.02);
  EXPECT_LT((fit.camera.A - truth.A).norm() / truth.A.norm(), 2e-4);
  EXPECT_EQ(fit.residualPx.size(), points.size());
}

TEST(FitAffineCamera, RefusesPlanesAndTooFew) {
  const AffineCamera truth = microscope(30, 35);
  std::vector<Eigen::Vector3d> points;
  std::vector<Eigen::Vector2d> pixels;
  for (int i = 0; i < 9; ++i) {
    points.emplace_back(1e-4 * (i % 3), 1e-4 * (i / 3), 0);
    pixels.push_back(truth.project(points.back()));
  }
  EXPECT_STREQ(fitAffineCamera(points, pixels).reason, "points lie in one plane");
  points.resize(3);
  EXPECT_FALSE(fitAffineCamera(points, pixels).ok) << "lengths differ";
  pixels.resize(3);
  EXPECT_STREQ(fitAffineCamera(points, pixels).reason, "fewer than four points");
}

}  // namespace
}  // namespace surgiclaw::geometry
