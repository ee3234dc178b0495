#include "surgiclaw/geometry/image_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "synthetic.h"

namespace surgiclaw::geometry {
namespace {

using synthetic::addTexture;
using synthetic::Canvas;
using synthetic::expose;
using synthetic::Frame;

TEST(MeasureImage, ExposureOfAHandMadeImage) {
  // 10 × 10: ten pixels each of 0, 1, 2, 3 and 100, and fifty of 255.
  Frame frame;
  frame.width = frame.height = 10;
  for (const int level : {0, 1, 2, 3, 100, 255, 255, 255, 255, 255}) {
    frame.pixels.insert(frame.pixels.end(), 10, static_cast<uint8_t>(level));
  }
  const ImageMetrics metrics = measureImage(frame.view());
  EXPECT_NEAR(metrics.mean, (0 + 1 + 2 + 3 + 100 + 5 * 255) / 10.0, 1e-9);
  EXPECT_NEAR(metrics.clippedLow, 0.3, 1e-9);
  EXPECT_NEAR(metrics.clippedHigh, 0.5, 1e-9);
  EXPECT_NEAR(metrics.p01, 0, 0.5);
  EXPECT_NEAR(metrics.p99, 255, 0.5);
}

TEST(MeasureImage, PercentilesOfARamp) {
  Frame frame;
  frame.width = 256;
  frame.height = 64;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 256; ++x) frame.pixels.push_back(static_cast<uint8_t>(x));
  }
  const ImageMetrics metrics = measureImage(frame.view());
  EXPECT_NEAR(metrics.mean, 127.5, 1e-9);
  EXPECT_NEAR(metrics.p50, 127.5, 0.01);
  EXPECT_NEAR(metrics.p01, 2.06, 0.01);
  EXPECT_NEAR(metrics.p99, 252.94, 0.01);
  // Brenner of a ramp of slope 1 is 2²; Sobel 8² + 0.
  EXPECT_NEAR(metrics.brenner, 4, 1e-9);
  EXPECT_NEAR(metrics.tenengrad, 64, 1e-9);
  EXPECT_NEAR(metrics.noiseSigma, 0, 1e-9);
}

TEST(MeasureImage, CompensatesShotAndReadNoise) {
  // A flat picture has no sharpness whatever its noise. The camera's formula: var = g·s + (5 g)², g =
  // 255/10000.
  const Frame frame = expose(Canvas(1024, 1024, 130), 3);
  const ImageMetrics metrics = measureImage(frame.view());
  const double g = 255.0 / 10000;
  const double variance = g * 130 + 25 * g * g + 1.0 / 12;
  EXPECT_NEAR(metrics.noiseSigma, std::sqrt(variance), 0.04 * std::sqrt(variance));
  EXPECT_LT(metrics.brenner, 0.08 * 2 * variance);
  EXPECT_LT(metrics.tenengrad, 0.08 * 24 * variance);
}

TEST(MeasureImage, SharpnessFallsWithBlurAndIgnoresGain) {
  double last = 1e9;
  for (const double cell : {4.0, 6.0, 9.0, 14.0}) {  // Coarser grain stands for more blur.
    Canvas canvas(768, 768, 120);
    addTexture(canvas, 5, {{cell, 0.08}});
    const double quiet = measureImage(expose(canvas, 1, 0.5).view()).brenner;
    const double noisy = measureImage(expose(canvas, 2, 2.0).view()).brenner;
    EXPECT_LT(quiet, 0.8 * last);
    // Noise of four times the amplitude adds 24 grey levels² to the raw figure.
    EXPECT_NEAR(noisy, quiet, 0.15 * quiet + 1.5);
    last = quiet;
  }
}

TEST(MeasureImage, KeepsToTheRegion) {
  Canvas canvas(600, 400, 50);
  for (int y = 100; y < 200; ++y) {
    for (int x = 300; x < 500; ++x) canvas.at(x, y) = 200;
  }
  const Frame frame = expose(canvas, 1, 0);
  EXPECT_NEAR(measureImage(frame.view(), {300, 100, 200, 100}).mean, 200, 1e-9);
  EXPECT_NEAR(measureImage(frame.view(), {0, 0, 300, 400}).mean, 50, 1e-9);
  EXPECT_NEAR(measureImage(frame.view(), {-50, -50, 100, 100}).mean, 50, 1e-9) << "cut to the frame";
}

TEST(MeasureImage, SurvivesNothing) {
  EXPECT_EQ(measureImage(ImageView{}).mean, 0);
  const Frame frame = expose(Canvas(64, 64, 80), 1);
  EXPECT_EQ(measureImage(frame.view(), {100, 100, 10, 10}).mean, 0) << "region outside";
  EXPECT_GT(measureImage(frame.view(), {5, 5, 1, 1}).mean, 0) << "one pixel";
}

}  // namespace
}  // namespace surgiclaw::geometry
