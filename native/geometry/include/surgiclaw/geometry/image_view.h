// A borrowed Mono8 image and a region of it. Nothing here owns pixels.
//
// Pixel coordinates everywhere in geometry: x right, y down, in pixels; the centre of the top-left pixel is
// (0, 0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace surgiclaw::geometry {

/// Row-major 8-bit grey image. `stride` is the distance between rows in bytes, at least `width`.
struct ImageView {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  int stride = 0;

  bool empty() const { return data == nullptr || width <= 0 || height <= 0 || stride < width; }
  const uint8_t* row(int y) const { return data + static_cast<ptrdiff_t>(y) * stride; }
};

/// A rectangle of whole pixels. Width or height 0 means "the whole frame" where a function takes one as an
/// option.
struct Roi {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// The part of `roi` that lies in the image; the whole image for an empty `roi`. May be empty (width or
/// height 0).
inline Roi clipRoi(const Roi& roi, const ImageView& image) {
  if (roi.width <= 0 || roi.height <= 0) return {0, 0, image.width, image.height};
  const int64_t x0 = std::clamp<int64_t>(roi.x, 0, image.width);
  const int64_t y0 = std::clamp<int64_t>(roi.y, 0, image.height);
  const int64_t x1 = std::clamp<int64_t>(static_cast<int64_t>(roi.x) + roi.width, 0, image.width);
  const int64_t y1 = std::clamp<int64_t>(static_cast<int64_t>(roi.y) + roi.height, 0, image.height);
  return {static_cast<int>(x0), static_cast<int>(y0), static_cast<int>(std::max<int64_t>(0, x1 - x0)),
          static_cast<int>(std::max<int64_t>(0, y1 - y0))};
}

/// The view of a region already clipped to the image.
inline ImageView crop(const ImageView& image, const Roi& roi) {
  return {image.row(roi.y) + roi.x, roi.width, roi.height, image.stride};
}

}  // namespace surgiclaw::geometry
