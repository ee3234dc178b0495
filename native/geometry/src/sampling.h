// Bilinear reading of images at fractional positions; outside the image the border repeats.
#pragma once

#include <algorithm>
#include <cmath>

#include "reduce.h"
#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// `x` and `y` must lie in [0, width − 1) and [0, height − 1).
template <typename Pixel>
inline float bilinearInside(const Pixel* data, ptrdiff_t stride, double x, double y) {
  const int xi = static_cast<int>(x);
  const int yi = static_cast<int>(y);
  const auto fx = static_cast<float>(x - xi);
  const auto fy = static_cast<float>(y - yi);
  const Pixel* p = data + yi * stride + xi;
  const auto a = static_cast<float>(p[0]);
  const auto b = static_cast<float>(p[1]);
  const auto c = static_cast<float>(p[stride]);
  const auto d = static_cast<float>(p[stride + 1]);
  const float top = a + fx * (b - a);
  const float bottom = c + fx * (d - c);
  return top + fy * (bottom - top);
}

template <typename Pixel>
inline float bilinearClamped(const Pixel* data, ptrdiff_t stride, int width, int height, double x, double y) {
  const double cx = std::clamp(x, 0.0, width - 1.001);
  const double cy = std::clamp(y, 0.0, height - 1.001);
  return bilinearInside(data, stride, cx, cy);
}

/// Grey level of the frame; needs at least 2 × 2 pixels.
inline float sampleAt(const ImageView& image, double x, double y) {
  return bilinearClamped(image.data, image.stride, image.width, image.height, x, y);
}

/// A frame of axes along a bar: s counts pixels from the origin towards the shank, t to the side.
struct AxisFrame {
  double originX = 0;
  double originY = 0;
  double directionX = 0;  ///< Unit, from shank to tip.
  double directionY = 1;

  double normalX() const { return directionY; }
  double normalY() const { return -directionX; }
  double x(double s, double t) const { return originX - s * directionX + t * normalX(); }
  double y(double s, double t) const { return originY - s * directionY + t * normalY(); }
};

}  // namespace surgiclaw::geometry
