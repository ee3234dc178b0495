#include "reduce.h"

#include "vector_targets.h"

namespace surgiclaw::geometry {
namespace {

SURGICLAW_VECTOR_TARGETS
void sumRowsBy4(const uint8_t* a, const uint8_t* b, const uint8_t* c, const uint8_t* d, int blocks,
                uint16_t* columns, uint16_t* out) {
  for (int i = 0; i < 4 * blocks; ++i) columns[i] = static_cast<uint16_t>(a[i] + b[i] + c[i] + d[i]);
  for (int i = 0; i < blocks; ++i) {
    out[i] =
        static_cast<uint16_t>(columns[4 * i] + columns[4 * i + 1] + columns[4 * i + 2] + columns[4 * i + 3]);
  }
}

SURGICLAW_VECTOR_TARGETS
void sumRowsBy2(const uint16_t* a, const uint16_t* b, int blocks, uint16_t* out) {
  for (int i = 0; i < blocks; ++i) {
    out[i] = static_cast<uint16_t>(a[2 * i] + a[2 * i + 1] + b[2 * i] + b[2 * i + 1]);
  }
}

}  // namespace

void reduceBy4(const ImageView& image, const Roi& region, Reduced& out) {
  out.width = region.width / 4;
  out.height = region.height / 4;
  out.factor = 4;
  out.x0 = region.x;
  out.y0 = region.y;
  out.scale = 16;
  out.pixels.resize(static_cast<size_t>(out.width) * out.height);
  thread_local std::vector<uint16_t> columns;
  columns.resize(static_cast<size_t>(out.width) * 4);
  for (int j = 0; j < out.height; ++j) {
    const uint8_t* top = image.row(region.y + 4 * j) + region.x;
    sumRowsBy4(top, top + image.stride, top + 2 * static_cast<ptrdiff_t>(image.stride),
               top + 3 * static_cast<ptrdiff_t>(image.stride), out.width, columns.data(),
               out.pixels.data() + static_cast<ptrdiff_t>(j) * out.width);
  }
}

void halve(const Reduced& in, Reduced& out) {
  out.width = in.width / 2;
  out.height = in.height / 2;
  out.factor = in.factor * 2;
  out.x0 = in.x0;
  out.y0 = in.y0;
  out.scale = in.scale * 4;
  out.pixels.resize(static_cast<size_t>(out.width) * out.height);
  for (int j = 0; j < out.height; ++j) {
    sumRowsBy2(in.row(2 * j), in.row(2 * j + 1), out.width,
               out.pixels.data() + static_cast<ptrdiff_t>(j) * out.width);
  }
}

}  // namespace surgiclaw::geometry
