// Box reduction by whole factors, the first step of every coarse search.
#pragma once

#include <cstdint>
#include <vector>

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// A reduced image. Pixel (i, j) is the mean of the factor × factor block whose top-left pixel is
/// (x0 + i·factor, y0 + j·factor) of the frame, times `scale` grey levels.
struct Reduced {
  int width = 0;
  int height = 0;
  int factor = 1;
  int x0 = 0;
  int y0 = 0;
  double scale = 1;
  std::vector<uint16_t> pixels;

  const uint16_t* row(int y) const { return pixels.data() + static_cast<ptrdiff_t>(y) * width; }
  /// Frame coordinate of a reduced coordinate (block centres).
  double frameX(double i) const { return x0 + factor * i + 0.5 * (factor - 1); }
  double frameY(double j) const { return y0 + factor * j + 0.5 * (factor - 1); }
  double reducedX(double x) const { return (x - x0 - 0.5 * (factor - 1)) / factor; }
  double reducedY(double y) const { return (y - y0 - 0.5 * (factor - 1)) / factor; }
};

/// Reduces a clipped region by 4; whole blocks only. Pixels are sums of 16: scale 16.
void reduceBy4(const ImageView& image, const Roi& region, Reduced& out);

/// Halves a reduced image; pixels are sums of four (scale × 4).
void halve(const Reduced& in, Reduced& out);

}  // namespace surgiclaw::geometry
