// The calibration target, against numerical integration of the point spread over the pattern.
#include <gtest/gtest.h>

#include <cmath>

#include "optics_fixture.h"

namespace surgiclaw::optics {
namespace {

using namespace testing;

Scene targetScene(ImageModel model) {
  Scene scene = flatScene();
  scene.model = model;
  // Another mark keeps the shared renderer apart from those of the other tests.
  scene.tissue.marks.assign(3, {{5e-3, 5e-3}, 1e-6, 0.1});
  return scene;
}

/// A plate through the focus point, tilted by `tilt` against the view and turned by `roll` about its own
/// normal.
Plate plateAt(const CameraScene& camera, double tilt, double roll) {
  const auto& [right, down, forward] = camera.rotation;
  const Vec3 leaning = add(scale(down, std::cos(tilt)), scale(forward, std::sin(tilt)));
  Plate plate{{}, {}, {}, 5, 4, 100e-6, 0.75, 0.08};
  plate.origin = camera.focusPointM;
  plate.uAxis = add(scale(right, std::cos(roll)), scale(leaning, std::sin(roll)));
  // Right-handed with its normal towards the camera.
  plate.vAxis = add(scale(right, std::sin(roll)), scale(leaning, -std::cos(roll)));
  return plate;
}

/// Reflectance of the plate at a pixel, without blur. Straight from the definition.
double sharp(const Scene& scene, const Plate& plate, double x, double y) {
  const CameraScene& camera = scene.cameras[0];
  const Vec3 from = worldPoint(camera, x, y, 0);
  const Vec3 normal = cross(plate.uAxis, plate.vAxis);
  const double along = dot(subtract(plate.origin, from), normal) / dot(camera.rotation[2], normal);
  const Vec3 offset = subtract(add(from, scale(camera.rotation[2], along)), plate.origin);

  const double u = dot(offset, plate.uAxis) / plate.pitchM + 0.5 * (plate.columns + 1);
  const double v = dot(offset, plate.vAxis) / plate.pitchM + 0.5 * (plate.rows + 1);
  if (u < 0 || v < 0 || u >= plate.columns + 1 || v >= plate.rows + 1) return plate.white;
  return (static_cast<int>(u) + static_cast<int>(v)) % 2 == 0 ? plate.black : plate.white;
}

/// Depth of the plate behind the focal plane where a pixel sees it, m.
double depthAt(const Scene& scene, const Plate& plate, double x, double y) {
  const CameraScene& camera = scene.cameras[0];
  const Vec3 from = worldPoint(camera, x, y, 0);
  const Vec3 normal = cross(plate.uAxis, plate.vAxis);
  return dot(subtract(plate.origin, from), normal) / dot(camera.rotation[2], normal);
}

class PlatePicture : public ::testing::TestWithParam<ImageModel> {};

TEST_P(PlatePicture, IsTheIntegralOfThePointSpread) {
  const Scene scene = targetScene(GetParam());
  const Plate plate = plateAt(scene.cameras[0], 0.7, 0.3);
  SceneState state;
  state.plate = plate;
  const Region region{850, 900, 90, 60};
  const Picture picture = reflectance(sharedRenderer(scene), state, region);
  double worst = 0;
  for (int y = region.y; y < region.y + region.height; y += 7) {
    for (int x = region.x; x < region.x + region.width; x += 5) {
      const double sigma = blurSigmaPx(depthAt(scene, plate, x, y), scene.dofM);
      double sum = 0, weight = 0;
      constexpr int kSteps = 160;
      const double reach = GetParam() == ImageModel::kDisc ? 2 : 4;
      for (int j = 0; j < kSteps; ++j) {
        for (int i = 0; i < kSteps; ++i) {
          const double a = reach * (2 * (i + 0.5) / kSteps - 1), b = reach * (2 * (j + 0.5) / kSteps - 1);
          const double r2 = a * a + b * b;
          const double w = GetParam() == ImageModel::kDisc ? (r2 < 4 ? 1 : 0) : std::exp(-0.5 * r2);
          if (w == 0) continue;
          weight += w;
          sum += w * sharp(scene, plate, x + a * sigma, y + b * sigma);
        }
      }
      worst = std::max(worst, std::abs(sum / weight - picture.at(x, y)));
    }
  }
  // The sum over squares of a discontinuous pattern is itself good to a few parts in a thousand.
  EXPECT_LT(worst, 6e-3);
}

TEST_P(PlatePicture, IsPlainBesideThePatternAndDarkBehind) {
  const Scene scene = targetScene(GetParam());
  SceneState state;
  state.plate = plateAt(scene.cameras[0], 0.7, 0.3);
  // 0.75 mm from the centre there is no pattern of 0.6 mm x 0.5 mm.
  EXPECT_FLOAT_EQ(
      static_cast<float>(reflectance(sharedRenderer(scene), state, {100, 100, 1, 1}).at(100, 100)), 0.75f);
  state.plate->vAxis = scale(state.plate->vAxis, -1);
  EXPECT_FLOAT_EQ(
      static_cast<float>(reflectance(sharedRenderer(scene), state, {1024, 1024, 1, 1}).at(1024, 1024)),
      0.08f);
}

TEST(SceneStatePlate, ComesBackAsItWasPacked) {
  SceneState state;
  state.plate = Plate{{1e-3, 2e-3, 3e-3}, {0, 1, 0}, {0, 0, 1}, 5, 4, 1e-4, 0.75, 0.08};
  const std::vector<double> flat = packState(state);
  const SceneState back = unpackState(flat.data(), flat.size());
  ASSERT_TRUE(back.plate.has_value());
  EXPECT_EQ(back.plate->origin, state.plate->origin);
  EXPECT_EQ(back.plate->uAxis, state.plate->uAxis);
  EXPECT_EQ(back.plate->vAxis, state.plate->vAxis);
  EXPECT_EQ(back.plate->columns, 5);
  EXPECT_EQ(back.plate->rows, 4);
  EXPECT_EQ(back.plate->pitchM, 1e-4);
  EXPECT_EQ(back.plate->black, 0.08);
  std::vector<double> skew = flat;
  skew[layout::kPlate + 3] = 0.5;
  EXPECT_THROW(static_cast<void>(unpackState(skew.data(), skew.size())), StateError);
  EXPECT_THROW(static_cast<void>(unpackState(flat.data(), flat.size() - 1)), StateError) << "cut off";
}

INSTANTIATE_TEST_SUITE_P(Models, PlatePicture, ::testing::Values(ImageModel::kGaussian, ImageModel::kDisc));

}  // namespace
}  // namespace surgiclaw::optics
