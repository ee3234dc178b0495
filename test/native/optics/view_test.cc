#include "surgiclaw/optics/view.h"

#include <gtest/gtest.h>

#include "optics_fixture.h"

namespace surgiclaw::optics {
namespace {

using namespace testing;

TEST(View, ShowsTheFocusPointInTheMiddle) {
  const View view(flatScene().cameras[0], CameraState{});
  const ImagePoint p = view.project({0, 0, 3e-4});
  EXPECT_NEAR(p.x, 1024, 1e-9);
  EXPECT_NEAR(p.y, 1024, 1e-9);
  EXPECT_NEAR(p.depthM, 0, 1e-12);
}

TEST(View, ForeshortensAsTheElevationSays) {
  // 100 um up: cos 35 deg of it upward in the image, sin 35 deg of it towards the camera.
  const View view(flatScene().cameras[0], CameraState{});
  const ImagePoint p = view.project({0, 0, 4e-4});
  EXPECT_NEAR(p.x, 1024, 1e-9);
  EXPECT_NEAR(p.y, 1024 - 0.819152 * 1e-4 / kScale, 1e-3);
  EXPECT_NEAR(p.depthM, -0.573576e-4, 1e-9);
}

TEST(View, MovesTheFocalPointWithItsStage) {
  CameraScene camera = flatScene().cameras[0];
  // One degree off the optical axis toward image x.
  camera.focusDirection =
      add(scale(camera.rotation[2], std::cos(kPi / 180)), scale(camera.rotation[0], std::sin(kPi / 180)));
  CameraState state;
  state.focusM = 2e-4;
  state.wanderM = {3 * kScale, -2 * kScale};
  const ImagePoint p = View(camera, state).project({0, 0, 3e-4});
  EXPECT_NEAR(p.x, 1024 + 3 - 2e-4 * 0.0174524 / kScale, 1e-3);
  EXPECT_NEAR(p.y, 1024 - 2, 1e-9);
  EXPECT_NEAR(p.depthM, -2e-4 * 0.999848, 1e-9);
}

TEST(PlaneDepth, GrowsUpTheImageOfAnInclinedSurface) {
  // Elevation 35 deg: one pixel further down the surface is nearer by its size over tan 35 deg.
  const View view(flatScene().cameras[0], CameraState{});
  const PlaneDepth depth(view, {0, 0, 0}, {0, 0, 1});
  EXPECT_NEAR(depth.perColumn, 0, 1e-15);
  EXPECT_NEAR(depth.perRow, -kScale / std::tan(35 * kPi / 180), 1e-12);
  for (const Vec3& point : {Vec3{0, 0, 0}, Vec3{3e-4, -2e-4, 0}, Vec3{-5e-4, 4e-4, 0}}) {
    const ImagePoint p = view.project(point);
    EXPECT_NEAR(depth.at(p.x, p.y), p.depthM, 1e-12);
  }
}

TEST(Blur, GrowsInQuadratureWithDefocus) {
  EXPECT_NEAR(blurSigmaPx(0, 50e-6), 0.8, 1e-12);
  EXPECT_NEAR(blurSigmaPx(50e-6, 50e-6), 1.442221, 1e-6);
  EXPECT_NEAR(blurSigmaPx(-500e-6, 50e-6), 12.026637, 1e-6);
}

}  // namespace
}  // namespace surgiclaw::optics
