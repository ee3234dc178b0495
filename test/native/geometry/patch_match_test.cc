#include "surgiclaw/geometry/patch_match.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "synthetic.h"

namespace surgiclaw::geometry {
namespace {

using synthetic::Canvas;
using synthetic::expose;
using synthetic::Frame;
using synthetic::ValueNoise;

// The same smooth random field, moved by a known amount: exact truth at any fraction of a pixel.
Frame field(double shiftX, double shiftY, uint64_t noiseSeed, int size = 700, double grain = 5,
            double turn = 0) {
  const ValueNoise fine(1, grain, 1100, 1100);
  const ValueNoise coarse(2, 28, 1100, 1100);
  Canvas canvas(size, size, 0);
  const double c = std::cos(turn);
  const double s = std::sin(turn);
  const double middle = 0.5 * (size - 1);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const double u = c * (x - middle) + s * (y - middle) + middle - shiftX + 150;
      const double v = -s * (x - middle) + c * (y - middle) + middle - shiftY + 150;
      canvas.at(x, y) = static_cast<float>(120 + 8 * fine.at(u, v) + 6 * coarse.at(u, v));
    }
  }
  return expose(canvas, noiseSeed);
}

TEST(MatchPatch, FindsAPatchToATenthOfAPixel) {
  const Frame before = field(0, 0, 1);
  double worst = 0;
  for (const auto& [dx, dy] :
       {std::pair{0.0, 0.0}, {0.5, -0.25}, {7.3, 11.8}, {-18.66, 25.1}, {31.45, -30.9}}) {
    const Frame after = field(dx, dy, 2);
    for (const int size : {96, 128, 160}) {
      const Patch patch = cutPatch(before.view(), 350, 340, size, size);
      const PatchMatch match = matchPatch(after.view(), patch.view(), 350, 340, 40);
      ASSERT_TRUE(match.found) << dx << ", " << dy;
      worst = std::max(worst, std::hypot(match.x - 350 - dx, match.y - 340 - dy));
      EXPECT_GT(match.score, 0.9);
      EXPECT_GT(match.distinctness, 0.3);
    }
  }
  EXPECT_LT(worst, 0.1);
}

TEST(MatchPatch, SearchesFarCoarseToFine) {
  const Frame before = field(0, 0, 1, 900);
  const Frame after = field(240.4, -170.7, 2, 900);
  const Patch patch = cutPatch(before.view(), 400, 500, 128, 128);
  const PatchMatch match = matchPatch(after.view(), patch.view(), 400, 500, 330);
  ASSERT_TRUE(match.found);
  EXPECT_NEAR(match.x, 640.4, 0.1);
  EXPECT_NEAR(match.y, 329.3, 0.1);
}

TEST(MatchPatch, IgnoresBrightnessAndContrast) {
  const Frame before = field(0, 0, 1);
  Frame after = field(3.4, 2.6, 2);
  for (uint8_t& pixel : after.pixels) pixel = static_cast<uint8_t>(20 + pixel / 2);
  const Patch patch = cutPatch(before.view(), 350, 350, 128, 128);
  const PatchMatch match = matchPatch(after.view(), patch.view(), 350, 350, 20);
  ASSERT_TRUE(match.found);
  EXPECT_NEAR(match.x, 353.4, 0.1);
  EXPECT_NEAR(match.y, 352.6, 0.1);
}

TEST(MatchPatch, WithAWarpedPatchUndoesARotation) {
  const double turn = 0.3;
  const Frame before = field(0, 0, 1);
  const Frame after = field(0, 0, 2, 700, 5, turn);
  // What appears at offset o in the turned frame lies at Rᵀ o in the first one.
  const double c = std::cos(turn);
  const double s = std::sin(turn);
  const Patch patch = cutPatch(before.view(), 349.5, 349.5, 120, 120, {c, s, -s, c});
  const PatchMatch match = matchPatch(after.view(), patch.view(), 345, 352, 20);
  ASSERT_TRUE(match.found);
  EXPECT_NEAR(match.x, 349.5, 0.1);
  EXPECT_NEAR(match.y, 349.5, 0.1);
  EXPECT_GT(match.score, 0.85);
}

TEST(MatchPatch, SaysWhenItIsNotThere) {
  const Frame frame = field(0, 0, 1);
  const Frame other = field(90, 90, 3);
  const Patch patch = cutPatch(frame.view(), 350, 350, 128, 128);
  EXPECT_FALSE(matchPatch(other.view(), patch.view(), 350, 350, 30).found) << "beyond the radius";
  const Frame flat = expose(Canvas(400, 400, 100), 1, 0);
  EXPECT_FALSE(matchPatch(flat.view(), patch.view(), 200, 200, 30).found) << "nothing to see";
  const Patch blank = cutPatch(flat.view(), 200, 200, 64, 64);
  EXPECT_FALSE(matchPatch(frame.view(), blank.view(), 350, 350, 30).found) << "flat patch";
  EXPECT_FALSE(matchPatch(frame.view(), patch.view(), 2000, 350, 30).found) << "outside the frame";
  EXPECT_FALSE(matchPatch(frame.view(), patch.view(), std::numeric_limits<double>::quiet_NaN(), 0, 30).found);
}

// A ribbon laid across the tissue: 14 px wide, matt and dark, with edges of a pixel.
Frame withThread(Frame frame, double throughX, double throughY, double angle, double halfLength) {
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      const double along = (x - throughX) * std::cos(angle) + (y - throughY) * std::sin(angle);
      const double aside = (y - throughY) * std::cos(angle) - (x - throughX) * std::sin(angle);
      const double share = std::clamp(7.5 - std::abs(aside), 0.0, 1.0) *
                           std::clamp(halfLength + 0.5 - std::abs(along), 0.0, 1.0);
      uint8_t& pixel =
          frame.pixels[static_cast<size_t>(y) * static_cast<size_t>(frame.width) + static_cast<size_t>(x)];
      pixel = static_cast<uint8_t>(std::lround((1 - share) * pixel + share * 62));
    }
  }
  return frame;
}

TEST(MatchPatch, FindsTissueUnderAThread) {
  const Frame before = field(0, 0, 1);
  const Patch patch = cutPatch(before.view(), 350, 340, 112, 112);
  double worst = 0;
  for (const double angle : {0.3, 1.2, 2.1, 2.9}) {
    for (const auto& [aside, halfLength] : {std::pair{0.0, 150.0}, {25.0, 150.0}, {-18.0, 60.0}}) {
      const Frame after = withThread(field(11.3, -7.6, 2), 361.3 - aside * std::sin(angle),
                                     332.4 + aside * std::cos(angle), angle, halfLength);
      const PatchMatch match = matchPatch(after.view(), patch.view(), 350, 340, 70);
      ASSERT_TRUE(match.found) << angle << ", " << aside;
      EXPECT_GT(match.score, 0.8) << angle << ", " << aside;
      EXPECT_GT(match.distinctness, 0.3) << angle << ", " << aside;
      worst = std::max(worst, std::hypot(match.x - 361.3, match.y - 332.4));
    }
  }
  EXPECT_LT(worst, 0.15);
}

TEST(MatchPatch, DoesNotTakeAThreadForTissue) {
  const Frame frame = field(0, 0, 1);
  const Frame other = withThread(field(90, 90, 3), 350, 350, 0.3, 150);
  const Patch patch = cutPatch(frame.view(), 350, 350, 112, 112);
  const PatchMatch match = matchPatch(other.view(), patch.view(), 350, 350, 30);
  EXPECT_LT(match.score, 0.5);
  EXPECT_FALSE(match.found);
}

TEST(MatchPatch, RepeatedPatternIsNotDistinct) {
  Canvas canvas(500, 500, 0);
  for (int y = 0; y < 500; ++y) {
    for (int x = 0; x < 500; ++x) {
      canvas.at(x, y) = static_cast<float>(120 + 30 * std::sin(x * 0.1257) * std::sin(y * 0.1257));
    }
  }
  const Frame frame = expose(canvas, 1);
  const Patch patch = cutPatch(frame.view(), 250, 250, 96, 96);
  const PatchMatch match = matchPatch(frame.view(), patch.view(), 250, 250, 70);
  EXPECT_LT(match.distinctness, 0.05);
}

TEST(CutPatch, ReadsBilinearlyAndRepeatsTheBorder) {
  Frame frame;
  frame.width = 4;
  frame.height = 2;
  frame.pixels = {0, 40, 80, 120, 0, 40, 80, 120};
  const Patch half = cutPatch(frame.view(), 1.5, 0.5, 2, 1);
  ASSERT_EQ(half.pixels.size(), 2u);
  EXPECT_EQ(half.pixels[0], 40);
  EXPECT_EQ(half.pixels[1], 80);
  const Patch stretched = cutPatch(frame.view(), 1.5, 0.5, 3, 1, {0.5, 0, 0, 1});
  EXPECT_EQ(stretched.pixels[0], 40);
  EXPECT_EQ(stretched.pixels[1], 60);
  EXPECT_EQ(stretched.pixels[2], 80);
  EXPECT_EQ(cutPatch(frame.view(), -5, 0, 1, 1).pixels[0], 0);
  EXPECT_TRUE(cutPatch(ImageView{}, 0, 0, 8, 8).pixels.empty());
  EXPECT_TRUE(cutPatch(frame.view(), 0, 0, 0, 8).pixels.empty());
}

}  // namespace
}  // namespace surgiclaw::geometry
