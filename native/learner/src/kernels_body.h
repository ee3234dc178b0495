// The kernels for one instruction set: included once by each kernels_*.cc, which defines
//   SURGICLAW_LANES      floats of a vector
//   SURGICLAW_ROWS       rows of C that are summed in registers at a time
//   SURGICLAW_KERNELS    name of the table of functions
//   SURGICLAW_NAME       what it is called
// Nothing of the standard library here: an inline function compiled for a newer processor could replace the
// common one.
#include "surgiclaw/learner/kernels.h"

namespace surgiclaw::learner {
namespace {

constexpr int kLanes = SURGICLAW_LANES;
constexpr int kRows = SURGICLAW_ROWS;

typedef float Vector __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));  // NOLINT

inline Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline void store(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }

/// Rows [row, row + Rows) and columns [column, column + Vectors * kLanes) of the product.
template <int Rows, int Vectors, bool Transposed>
void tile(const Product& p, int row, int column) {
  Vector sum[Rows][Vectors] = {};
  const float* b = p.b + column;
  const float* a = Transposed ? p.a + row : p.a + static_cast<std::size_t>(row) * p.aStride;
  const std::size_t aStride = static_cast<std::size_t>(p.aStride);
  for (int k = 0; k < p.k; ++k) {
    Vector right[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) right[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const float left = Transposed ? a[r] : a[r * aStride];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[r][v] += left * right[v];
    }
    b += p.bStride;
    a += Transposed ? aStride : 1;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const std::size_t at = static_cast<std::size_t>(row + r) * p.cStride + column;
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      const Vector zero = {};
      Vector value = sum[r][v];
      if (p.finish == Finish::kRelu) {
        value = value > zero ? value : zero;
      } else if (p.finish == Finish::kMask) {
        value = load(p.mask + at + v * kLanes) > zero ? value : zero;
      }
      store(p.c + at + v * kLanes, value);
    }
  }
}

using Tile = void (*)(const Product&, int, int);

template <int Vectors, bool Transposed>
Tile tileOf(int rows) {
  switch (rows) {
    case 1:
      return tile<1, Vectors, Transposed>;
    case 2:
      return tile<2, Vectors, Transposed>;
    case 3:
      return tile<3, Vectors, Transposed>;
    case 4:
      return tile<4, Vectors, Transposed>;
    case 5:
      return tile<5, Vectors, Transposed>;
    case 6:
      return tile<6, Vectors, Transposed>;
#if SURGICLAW_ROWS > 6
    case 7:
      return tile<7, Vectors, Transposed>;
    case 8:
      return tile<8, Vectors, Transposed>;
    case 9:
      return tile<9, Vectors, Transposed>;
    case 10:
      return tile<10, Vectors, Transposed>;
    case 11:
      return tile<11, Vectors, Transposed>;
    case 12:
      return tile<12, Vectors, Transposed>;
#endif
    default:
      return nullptr;
  }
}

/// Columns in panels that stay in the first cache, rows in nearly equal blocks.
template <bool Transposed>
void panels(const Product& p) {
  if (p.m <= 0) return;
  const int blocks = (p.m + kRows - 1) / kRows;
  const int small = p.m / blocks;
  const int larger = p.m % blocks;
  const auto panel = [&](Tile one, Tile oneMore, int column) {
    int row = 0;
    for (int block = 0; block < blocks; ++block) {
      const bool more = block < larger;
      (more ? oneMore : one)(p, row, column);
      row += more ? small + 1 : small;
    }
  };
  int column = 0;
  const Tile wide = tileOf<2, Transposed>(small);
  const Tile wideMore = tileOf<2, Transposed>(larger > 0 ? small + 1 : small);
  for (; column + 2 * kLanes <= p.n; column += 2 * kLanes) panel(wide, wideMore, column);
  const Tile narrow = tileOf<1, Transposed>(small);
  const Tile narrowMore = tileOf<1, Transposed>(larger > 0 ? small + 1 : small);
  for (; column < p.n; column += kLanes) panel(narrow, narrowMore, column);
}

void multiply(const Product& product) {
  if (product.aTransposed)
    panels<true>(product);
  else
    panels<false>(product);
}

void adamW(const AdamWStep& s) {
  const float keep1 = 1 - s.beta1;
  const float keep2 = 1 - s.beta2;
  const float stepSize = s.rate / s.correction1;
  for (std::size_t i = 0; i < s.count; ++i) {
    const float gradient = s.gradients[i];
    const float first = s.beta1 * s.firstMoments[i] + keep1 * gradient;
    const float second = s.beta2 * s.secondMoments[i] + keep2 * gradient * gradient;
    s.firstMoments[i] = first;
    s.secondMoments[i] = second;
    const float denominator = __builtin_sqrtf(second) / s.rootCorrection2 + s.epsilon;
    s.parameters[i] = s.parameters[i] * (1 - s.decay) - stepSize * first / denominator;
  }
}

void blend(float* target, const float* source, std::size_t count, float rate) {
  for (std::size_t i = 0; i < count; ++i) target[i] += rate * (source[i] - target[i]);
}

}  // namespace

extern const Kernels SURGICLAW_KERNELS;
const Kernels SURGICLAW_KERNELS{SURGICLAW_NAME, multiply, adamW, blend};

}  // namespace surgiclaw::learner
