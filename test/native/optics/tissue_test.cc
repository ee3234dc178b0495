// Where the tissue appears and how blurred, measured on a registration mark.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "optics_fixture.h"

namespace surgiclaw::optics {
namespace {

using namespace testing;

constexpr double kRadiusM = 30e-6;
constexpr PlanePoint kMark{1.2e-4, -0.7e-4};

Scene markedScene(ImageModel model) {
  Scene scene = flatScene();
  scene.model = model;
  scene.cameras[0].focusDirection = add(scale(scene.cameras[0].rotation[2], std::cos(0.01)),
                                        scale(scene.cameras[0].rotation[0], std::sin(0.01)));
  scene.tissue.marks.push_back({kMark, kRadiusM, 0.8});
  return scene;
}

Renderer& markedRenderer(ImageModel model) { return sharedRenderer(markedScene(model)); }

class TissueTest : public ::testing::TestWithParam<ImageModel> {
 protected:
  Renderer& renderer_ = markedRenderer(GetParam());
  CameraScene camera_ = markedScene(GetParam()).cameras[0];

  [[nodiscard]] ImagePoint truth(const SceneState& state) const {
    return View(camera_, state.cameras[0]).project(add({kMark.u, kMark.v, 0}, state.tissueShiftM));
  }
  /// Moments of the darkness of the mark.
  [[nodiscard]] Moments measured(const SceneState& state, int half) const {
    const ImagePoint p = truth(state);
    Picture picture = reflectance(
        renderer_, state, {static_cast<int>(p.x) - half, static_cast<int>(p.y) - half, 2 * half, 2 * half});
    for (double& value : picture.values) value = std::max(0.0, 0.5 - value - 1e-4);
    return momentsOf(picture);
  }
  /// Focus stage position that puts the mark this far behind the focal plane.
  [[nodiscard]] double focusFor(double depthM) const {
    return (truth(SceneState{}).depthM - depthM) / std::cos(0.01);
  }
};

TEST_P(TissueTest, MovesByFractionsOfAPixel) {
  SceneState state;
  state.cameras[0].focusM = focusFor(2e-5);
  for (const double up : {0.0, 1.37e-6, 9.91e-6, 31.3e-6, -24.7e-6}) {
    state.tissueShiftM = {0.31 * up, -0.12 * up, up};
    state.cameras[0].wanderM = {0.4 * up, 0.2e-6};
    const ImagePoint p = truth(state);
    const Moments m = measured(state, 70);
    EXPECT_NEAR(m.x, p.x, 0.03) << up;
    // Each pixel is blurred by its own depth, so a mark's rim is a little less blurred on its nearer side.
    EXPECT_NEAR(m.y, p.y, 0.10) << up;
  }
}

TEST_P(TissueTest, FollowsTheWanderOfTheStage) {
  // In the image plane alone: the blur stays what it is.
  SceneState state;
  state.cameras[0].focusM = focusFor(2e-5);
  const Moments before = measured(state, 70);
  for (const double px : {0.25, 0.5, 3.7, -11.4}) {
    state.cameras[0].wanderM = {px * kScale, 0.6 * px * kScale};
    const Moments m = measured(state, 70);
    EXPECT_NEAR(m.x - before.x, px, 0.02);
    EXPECT_NEAR(m.y - before.y, 0.6 * px, 0.02);
  }
}

TEST_P(TissueTest, BlursAsTheFormulaSays) {
  // In focus the mark itself; out of focus its second moment grows by the variance of the point spread.
  // Across the image only: along the other way the depth changes over the mark.
  SceneState state;
  state.cameras[0].focusM = focusFor(0);
  const double sharp = measured(state, 60).xx - 0.64;
  const double radius = kRadiusM / kScale;
  EXPECT_NEAR(sharp / (radius * radius / 4), 1, 0.05) << "a disc's second moment";
  for (const double depth : {60e-6, 150e-6, 290e-6, 420e-6, 700e-6}) {
    state.cameras[0].focusM = focusFor(depth);
    const double sigma = blurSigmaPx(depth, 50e-6);
    const Moments m = measured(state, 60 + static_cast<int>(5 * sigma));
    EXPECT_NEAR(std::sqrt(m.xx - sharp) / sigma, 1, 0.04) << "depth " << depth;
  }
}

TEST_P(TissueTest, IsSharpestWhereTheFocalPlaneMeetsIt) {
  // The band of best focus climbs as the focal plane moves away from the camera.
  Scene scene = flatScene();
  scene.model = GetParam();
  scene.tissue.textureContrast = 0.25;
  Renderer textured(scene, 0, makeNoiseTile(scene));
  for (const double focus : {2e-4, 5.2e-4, 8e-4}) {
    SceneState state;
    state.cameras[0].focusM = focus;
    const Picture picture = reflectance(textured, state);
    double best = 0;
    int bestRow = 0;
    constexpr int kBand = 32;
    for (int y = 0; y < kSensorSize - kBand; y += kBand) {
      double energy = 0;
      for (int j = y; j < y + kBand; ++j)
        for (int x = 2; x < kSensorSize; ++x) energy += std::pow(picture.at(x, j) - picture.at(x - 2, j), 2);
      if (energy > best) {
        best = energy;
        bestRow = y + kBand / 2;
      }
    }
    const PlaneDepth depth(View(scene.cameras[0], state.cameras[0]), {0, 0, 0}, {0, 0, 1});
    const double expected = 1024 - depth.at(1024, 1024) / depth.perRow;
    EXPECT_NEAR(bestRow, expected, 60) << "focus " << focus;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TissueTest, ::testing::Values(ImageModel::kGaussian, ImageModel::kDisc),
                         [](const auto& each) {
                           return each.param == ImageModel::kDisc ? "Disc" : "Gaussian";
                         });

TEST(TissueTexture, HasTheContrastAsked) {
  Scene scene = flatScene();
  scene.tissue.textureContrast = 0.25;
  Renderer renderer(scene, 0, makeNoiseTile(scene));
  SceneState state;
  state.cameras[0].focusM = View(scene.cameras[0], CameraState{}).project({0, 0, 0}).depthM;
  const ImagePoint p = View(scene.cameras[0], state.cameras[0]).project({0, 0, 0});
  // A narrow band at the place of best focus.
  const Picture band = reflectance(renderer, state, {0, static_cast<int>(p.y) - 15, kSensorSize, 30});
  double sum = 0, squares = 0;
  for (const double v : band.values) {
    sum += v;
    squares += v * v;
  }
  const double mean = sum / static_cast<double>(band.values.size());
  const double deviation = std::sqrt(squares / static_cast<double>(band.values.size()) - mean * mean);
  EXPECT_NEAR(mean, 0.5, 0.05);
  EXPECT_NEAR(deviation / mean, 0.125, 0.035);
}

}  // namespace
}  // namespace surgiclaw::optics
