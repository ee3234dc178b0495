// Exposure and sharpness of a frame in one pass.
#pragma once

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// Grey levels 0…255. Shares are 0…1 of the region's pixels.
struct ImageMetrics {
  double mean = 0;
  double p01 = 0;          ///< 1st percentile.
  double p50 = 0;          ///< Median.
  double p99 = 0;          ///< 99th percentile.
  double clippedLow = 0;   ///< Share of pixels ≤ 2.
  double clippedHigh = 0;  ///< Share of pixels ≥ 253.
  double brenner = 0;      ///< Mean of (I(x+2,y) − I(x,y))², less what noise adds; never negative.
  double tenengrad = 0;    ///< Mean of Sx² + Sy² (3×3 Sobel), less what noise adds; never negative.
  double noiseSigma = 0;   ///< Temporal noise of a pixel, grey levels, estimated from the image itself.
};

/// Measures the region (the whole frame when it is empty). All zero for an image or region without pixels.
///
/// Sharpness per skill-agent.md 13.4 (Brenner, Tenengrad), as means per pixel, so that regions of different
/// size compare. White noise of variance v adds 2 v to Brenner and 24 v to Tenengrad; v comes from the same
/// pass (Immerkær, CVIU 64(2), 1996, the Laplacian difference mask, as a median over blocks so that structure
/// does not count as noise). In regions above about 0.5 Mpixel every
/// second row is counted and every fourth differentiated.
ImageMetrics measureImage(const ImageView& image, const Roi& roi = {});

}  // namespace surgiclaw::geometry
