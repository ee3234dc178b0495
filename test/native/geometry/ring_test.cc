#include "surgiclaw/geometry/ring.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "synthetic.h"

namespace surgiclaw::geometry {
namespace {

using namespace synthetic;  // NOLINT: the whole file is about synthetic frames.

constexpr double kPi = 3.14159265358979;

// The reference cell's loop in view 1: 16 × 50 µm opening, 5 µm wire, 30 µm ribbon.
const RingModel kModel = {{5.9, 1.96}, {0, 17.5}, 4.27, {0.866, -0.287}, 25.6};

struct Parts {
  bool ring = true;
  bool filled = false;
  bool ribbon = true;
};

void drawLoop(Canvas& canvas, double x, double y, double sigma, const Parts& parts) {
  const double half = 0.5 * kModel.wirePx;
  const double a = std::hypot(kModel.halfAxisA[0], kModel.halfAxisA[1]);
  const double b = std::hypot(kModel.halfAxisB[0], kModel.halfAxisB[1]);
  const double length = std::hypot(kModel.ribbonDirection[0], kModel.ribbonDirection[1]);
  const double rx = kModel.ribbonDirection[0] / length;
  const double ry = kModel.ribbonDirection[1] / length;
  if (parts.ribbon) {
    const double start = a + kModel.wirePx + 0.5 * kModel.ribbonWidthPx;
    drawBand(canvas, {{x + rx * start, y + ry * start}, {x + rx * (start + 130), y + ry * (start + 130)}},
             kModel.ribbonWidthPx, sigma, 58);
    const double cx = x + rx * (start + 330);
    const double cy = y + ry * (start + 330);
    drawBand(canvas, {{cx + 900 * ry, cy - 900 * rx}, {cx - 900 * ry, cy + 900 * rx}}, 400, sigma + 3, 66);
  }
  if (!parts.ring) return;
  std::vector<std::pair<double, double>> line;
  for (int k = 0; k <= 60; ++k) {
    const double c = std::cos(2 * kPi * k / 60) * (1 + half / a);
    const double s = std::sin(2 * kPi * k / 60) * (1 + half / b);
    line.emplace_back(x + c * kModel.halfAxisA[0] + s * kModel.halfAxisB[0],
                      y + c * kModel.halfAxisA[1] + s * kModel.halfAxisB[1]);
  }
  drawBand(canvas, line, kModel.wirePx, sigma, 54);
  if (parts.filled) {
    for (const double f : {-0.4, 0.0, 0.4}) {
      drawBand(canvas, {{x + f * 5, y - 16}, {x + f * 5, y + 16}}, 8, sigma, 54);
    }
  }
}

Canvas tissue(uint64_t seed, double grain, int size = 700) {
  Canvas canvas(size, size, 125);
  addTexture(canvas, seed, {{grain, 0.04}, {20, 0.05}, {70, 0.05}, {300, 0.1}});
  drawBand(canvas, wanderingPath(seed, 50, 60, 0.8, 900, 0.12), 50, 9, 75, 0.7);
  return canvas;
}

TEST(FindRing, CentreToAFractionOfAPixelOverBlur) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const double sigma : {0.8, 1.5, 2.5, 4.0}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const double x = 330 + 20 * uniform(random);
      const double y = 350 + 20 * uniform(random);
      Canvas canvas = tissue(seed, std::max(5.0, 3 * sigma));
      drawLoop(canvas, x, y, sigma, {});
      const RingEstimate ring = findRing(expose(canvas, seed).view(), x + 80 * uniform(random),
                                         y + 80 * uniform(random), 120, kModel);
      ASSERT_TRUE(ring.found) << ring.reason << ", sigma " << sigma << ", seed " << seed;
      EXPECT_LT(std::hypot(ring.x - x, ring.y - y), 0.35 + 0.35 * sigma) << "sigma " << sigma;
      EXPECT_NEAR(ring.edgeSigmaPx / sigma, 1, 0.25);
      EXPECT_GT(ring.confidence, 0.5);
    }
  }
}

TEST(FindRing, SearchesWide) {
  Canvas canvas = tissue(3, 6, 1400);
  drawLoop(canvas, 560.3, 830.7, 1.2, {});
  const RingEstimate ring = findRing(expose(canvas, 1).view(), 760, 420, 600, kModel);
  ASSERT_TRUE(ring.found) << ring.reason;
  EXPECT_NEAR(ring.x, 560.3, 0.5);
  EXPECT_NEAR(ring.y, 830.7, 0.5);
}

TEST(FindRing, SaysWhenThereIsNone) {
  for (uint64_t seed = 20; seed < 26; ++seed) {
    Canvas bare = tissue(seed, 6);
    EXPECT_FALSE(findRing(expose(bare, seed).view(), 350, 350, 150, kModel).found) << "tissue, seed " << seed;
    drawLoop(bare, 330, 350, 1.5, {false, false, true});
    EXPECT_FALSE(findRing(expose(bare, seed).view(), 350, 350, 120, kModel).found)
        << "a ribbon's end, seed " << seed;
  }
  Canvas filled = tissue(30, 6);
  drawLoop(filled, 330, 350, 1.2, {true, true, true});
  EXPECT_FALSE(findRing(expose(filled, 1).view(), 340, 345, 60, kModel).found) << "no opening";
}

TEST(FindRing, TakesTheOneThatWasExpected) {
  Canvas canvas = tissue(40, 6, 1200);
  drawLoop(canvas, 300, 700, 1.4, {});
  drawLoop(canvas, 500, 480, 1.4, {});
  const RingEstimate near = findRing(expose(canvas, 1).view(), 325, 690, 320, kModel);
  ASSERT_TRUE(near.found) << near.reason;
  EXPECT_NEAR(near.x, 300, 0.8);
  EXPECT_NEAR(near.y, 700, 0.8);
  const RingEstimate between = findRing(expose(canvas, 1).view(), 400, 590, 320, kModel);
  EXPECT_FALSE(between.found) << "as near to the one as to the other";
}

TEST(FindRing, RefusesNonsense) {
  const Frame frame = expose(tissue(1, 6), 1);
  EXPECT_FALSE(findRing(ImageView{}, 10, 10, 50, kModel).found);
  EXPECT_FALSE(findRing(frame.view(), std::numeric_limits<double>::quiet_NaN(), 10, 50, kModel).found);
  RingModel edgeOn = kModel;
  edgeOn.halfAxisA[0] = 0;
  edgeOn.halfAxisA[1] = 5;
  EXPECT_STREQ(findRing(frame.view(), 350, 350, 50, edgeOn).reason, "the model has no opening");
  EXPECT_FALSE(findRing(frame.view(), 5000, 5000, 50, kModel).found);
}

}  // namespace
}  // namespace surgiclaw::geometry
