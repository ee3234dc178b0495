// From light to grey levels: exposure, gain, noise, saturation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "optics_fixture.h"

namespace surgiclaw::optics {
namespace {

using namespace testing;

constexpr Region kField{400, 500, 256, 256};

Renderer& flatRenderer(ImageModel model = ImageModel::kGaussian) {
  Scene scene = flatScene();
  scene.model = model;
  return sharedRenderer(scene);
}

std::vector<std::uint8_t> take(Renderer& renderer, double exposureUs, double gain, std::uint64_t number,
                               const SceneState& state = {}, const Region& region = kField) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(region.width) *
                                   static_cast<std::size_t>(region.height));
  renderer.render(state, {exposureUs, gain, number, region}, pixels.data());
  return pixels;
}

double meanOf(const std::vector<std::uint8_t>& pixels) {
  double sum = 0;
  for (const std::uint8_t p : pixels) sum += p;
  return sum / static_cast<double>(pixels.size());
}

/// Temporal variance from the difference of two frames: what is fixed in the image drops out.
double temporalVariance(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    sum += d;
    squares += d * d;
  }
  const double mean = sum / static_cast<double>(a.size());
  return 0.5 * (squares / static_cast<double>(a.size()) - mean * mean);
}

TEST(Sensor, GivesTheProperGreyAtTheProperExposure) {
  EXPECT_NEAR(meanOf(take(flatRenderer(), 10000, 0, 1)), 110, 0.3);
}

TEST(Sensor, IsLinearInExposureAndLight) {
  const double black = 6;
  const double reference = meanOf(take(flatRenderer(), 10000, 0, 1)) - black;
  for (const double factor : {0.125, 0.25, 0.5, 1.5, 2.0})
    EXPECT_NEAR((meanOf(take(flatRenderer(), 10000 * factor, 0, 2)) - black) / reference, factor,
                0.005 * factor + 0.001);
  SceneState dim;
  dim.light = 0.8;
  EXPECT_NEAR((meanOf(take(flatRenderer(), 10000, 0, 3, dim)) - black) / reference, 0.8, 0.004);
}

TEST(Sensor, ReadsGainAsDecibels) {
  // 10^(6/20) = 1.9953.
  const double base = meanOf(take(flatRenderer(), 5000, 0, 1)) - 6;
  EXPECT_NEAR((meanOf(take(flatRenderer(), 5000, 6, 2)) - 6) / base, 1.9953, 0.01);
}

TEST(Sensor, FollowsThePhotonTransferCurve) {
  // Noise well above a grey level, so that rounding adds its 1/12. Variance = k (mean - black) + k^2 r^2 +
  // 1/12, k = (255 - 6) / 10000 grey per electron, times the gain.
  for (const double gain : {0.0, 6.0}) {
    const double k = 249.0 / 10000 * std::pow(10, gain / 20);
    for (const double exposure : {2000.0, 5000.0, 10000.0}) {
      std::uint64_t number = 10;
      double variance = 0, mean = 0;
      constexpr int kPairs = 4;
      for (int i = 0; i < kPairs; ++i) {
        const auto a = take(flatRenderer(), exposure, gain, number++),
                   b = take(flatRenderer(), exposure, gain, number++);
        variance += temporalVariance(a, b) / kPairs;
        mean += meanOf(a) / kPairs;
      }
      const double expected = k * (mean - 6) + k * k * 25 + 1.0 / 12;
      EXPECT_NEAR(variance / expected, 1, 0.03) << "gain " << gain << " exposure " << exposure;
    }
  }
}

TEST(Sensor, SaturatesAtWhite) {
  for (const std::uint8_t p : take(flatRenderer(), 80000, 0, 1)) ASSERT_EQ(p, 255);
}

TEST(Sensor, HasABlackLevel) { EXPECT_NEAR(meanOf(take(flatRenderer(), 10, 0, 1)), 6.1, 0.15); }

TEST(Sensor, RepeatsAFrameByItsNumber) {
  EXPECT_EQ(take(flatRenderer(), 10000, 0, 5), take(flatRenderer(), 10000, 0, 5));
  EXPECT_GT(temporalVariance(take(flatRenderer(), 10000, 0, 5), take(flatRenderer(), 10000, 0, 6)), 1);
}

TEST(Sensor, ShowsTheSamePixelsInARegion) {
  const auto whole = take(flatRenderer(), 10000, 0, 5, {}, {0, 0, 2048, 2048});
  const auto part = take(flatRenderer(), 10000, 0, 5, {}, {0, 700, 2048, 3});
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 700 * 2048));
}

TEST(Sensor, LosesLightTowardTheCorners) {
  Scene scene = flatScene();
  scene.cameras[0].vignetting = 0.25;
  scene.cameras[0].dust.push_back({1500, 1000, 12, 0.4});
  scene.cameras[0].glare.push_back({600, 1000, 60, 0.1});
  Renderer renderer(scene, 0, makeNoiseTile(scene));
  const auto field = [&renderer](int x, int y, int size) {
    return meanOf(take(renderer, 10000, 0, 1, {}, {x, y, size, size})) - 6;
  };
  const double centre = field(1008, 1008, 32);
  EXPECT_NEAR(field(0, 0, 32) / centre, 1 - 0.25 * std::pow(1008.0 / 1024, 2), 0.01);
  // (1500 - 1024)^2 / (2 * 1024^2) of the way to the corner, in squares.
  const double at1500 = 1 - 0.25 * 476.0 * 476.0 / (2 * 1024.0 * 1024.0);
  EXPECT_NEAR(field(1496, 996, 8) / centre, 0.6 * at1500, 0.02) << "dust takes its share of the light";
  EXPECT_GT(field(596, 996, 8), field(300, 996, 8) + 15) << "glare adds light";
}

TEST(Sensor, OfTheDiscModelLiftsTheMidGreys) {
  // y = x (1 + 0.15) / (1 + 0.15 x) of the grey range: 104 / 249 -> 0.4520.
  const double x = 104.0 / 249;
  EXPECT_NEAR(meanOf(take(flatRenderer(ImageModel::kDisc), 10000, 0, 1)), 6 + 249 * x * 1.15 / (1 + 0.15 * x),
              0.5);
}

}  // namespace
}  // namespace surgiclaw::optics
