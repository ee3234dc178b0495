// Template matching by normalised cross-correlation, coarse to fine, to a fraction of a pixel.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// A grey-level template, row-major without gaps. The matched point is its centre ((width − 1)/2, (height −
/// 1)/2).
struct Patch {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;

  ImageView view() const { return {pixels.data(), width, height, width}; }
};

struct PatchMatch {
  bool found = false;
  double x = 0;  ///< Where the patch's centre lies in the frame, px.
  double y = 0;
  double score = -1;        ///< Normalised cross-correlation at the match, −1…1.
  double distinctness = 0;  ///< Score less the best score elsewhere (further than a quarter patch).
};

struct PatchMatchOptions {
  double minScore = 0.35;        ///< Below it, not found.
  double minDistinctness = 0.0;  ///< Below it, not found.
};

/// Cuts a patch of width × height whose centre lies at (x, y), warped by `affine` (row-major 2×2: patch
/// offset → frame offset), bilinear; outside the frame the border repeats. Empty patch for an empty image or
/// size < 1 or values that are not finite.
Patch cutPatch(const ImageView& image, double x, double y, int width, int height,
               const std::array<double, 4>& affine = {1, 0, 0, 1});

/// Finds the patch within `radius` px of (x, y): its centre is searched on a square of half side `radius`;
/// only placements wholly inside the frame count. Not found: no admissible placement, flat patch, score below
/// the limits, or the best placement on the edge of the search square (the true one may lie outside). Dark
/// lines that came to lie over the tissue (an electrode's thread) are left out, as long as half the patch is
/// seen.
PatchMatch matchPatch(const ImageView& image, const ImageView& patch, double x, double y, double radius,
                      const PatchMatchOptions& options = {});

}  // namespace surgiclaw::geometry
