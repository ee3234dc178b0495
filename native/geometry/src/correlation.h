// Normalised cross-correlation over all placements of a template, and the peaks of the result.
#pragma once

#include <cstddef>
#include <vector>

namespace surgiclaw::geometry {

/// A small image in single precision, row-major without gaps.
struct FloatImage {
  int width = 0;
  int height = 0;
  std::vector<float> pixels;

  void resize(int w, int h) {
    width = w;
    height = h;
    pixels.resize(static_cast<size_t>(w) * static_cast<size_t>(h));
  }
  float* row(int y) { return pixels.data() + static_cast<ptrdiff_t>(y) * width; }
  const float* row(int y) const { return pixels.data() + static_cast<ptrdiff_t>(y) * width; }
};

/// Zero-mean NCC of `pattern` at every placement inside `image`: out is (W − w + 1) × (H − h + 1), −1…1; 0
/// where the window or the pattern is flat. Empty when the pattern does not fit.
void correlate(const FloatImage& image, const FloatImage& pattern, FloatImage& out);

struct CorrelationPeak {
  int x = 0;
  int y = 0;
  float score = 0;
};

/// The highest local maxima, best first, at least `separation` apart (Chebyshev).
std::vector<CorrelationPeak> highestPeaks(const FloatImage& scores, int separation, size_t count);

/// Means over factor × factor blocks.
void reduceFloat(const FloatImage& in, int factor, FloatImage& out);

}  // namespace surgiclaw::geometry
