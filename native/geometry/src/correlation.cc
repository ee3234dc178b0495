#include "correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "vector_targets.h"

namespace surgiclaw::geometry {
namespace {

// Adds a row of the pattern to the sums of a row of placements, four columns of the pattern at a time. The
// sums run over placements, so the loop vectorises without reordering any one sum.
SURGICLAW_VECTOR_TARGETS
void addRow(const float* image, const float* pattern, int patternWidth, float* sums, int placements) {
  int k = 0;
  for (; k + 4 <= patternWidth; k += 4) {
    const float a = pattern[k];
    const float b = pattern[k + 1];
    const float c = pattern[k + 2];
    const float d = pattern[k + 3];
    const float* from = image + k;
    for (int x = 0; x < placements; ++x) {
      sums[x] += a * from[x] + b * from[x + 1] + c * from[x + 2] + d * from[x + 3];
    }
  }
  for (; k < patternWidth; ++k) {
    const float a = pattern[k];
    const float* from = image + k;
    for (int x = 0; x < placements; ++x) sums[x] += a * from[x];
  }
}

}  // namespace

void correlate(const FloatImage& image, const FloatImage& pattern, FloatImage& out) {
  const int w = pattern.width;
  const int h = pattern.height;
  const int columns = image.width - w + 1;
  const int rows = image.height - h + 1;
  if (columns < 1 || rows < 1 || w < 1 || h < 1) {
    out.resize(0, 0);
    return;
  }
  out.resize(columns, rows);
  std::fill(out.pixels.begin(), out.pixels.end(), 0.0f);

  const auto count = static_cast<double>(w) * h;
  double mean = 0;
  for (const float value : pattern.pixels) mean += static_cast<double>(value);
  mean /= count;
  std::vector<float> centred(pattern.pixels.size());
  double energy = 0;
  for (size_t i = 0; i < centred.size(); ++i) {
    centred[i] = static_cast<float>(static_cast<double>(pattern.pixels[i]) - mean);
    energy += static_cast<double>(centred[i]) * static_cast<double>(centred[i]);
  }
  if (!(energy > 1e-6 * count)) return;

  // A common offset keeps single precision precise; the centred pattern does not see it.
  double imageMean = 0;
  for (const float value : image.pixels) imageMean += static_cast<double>(value);
  imageMean /= static_cast<double>(image.pixels.size());
  std::vector<float> shifted(image.pixels.size());
  for (size_t i = 0; i < shifted.size(); ++i) {
    shifted[i] = static_cast<float>(static_cast<double>(image.pixels[i]) - imageMean);
  }

  // Column sums over the window's height, moved down row by row, give each window's mean and energy.
  const auto width = static_cast<size_t>(image.width);
  std::vector<double> sum(width, 0.0);
  std::vector<double> square(width, 0.0);
  const auto add = [&](int y, double sign) {
    const float* row = shifted.data() + static_cast<size_t>(y) * width;
    for (size_t x = 0; x < width; ++x) {
      const auto value = static_cast<double>(row[x]);
      sum[x] += sign * value;
      square[x] += sign * value * value;
    }
  };
  for (int y = 0; y < h; ++y) add(y, 1);
  for (int y = 0; y < rows; ++y) {
    float* sums = out.row(y);
    for (int r = 0; r < h; ++r) {
      addRow(shifted.data() + static_cast<size_t>(y + r) * width,
             centred.data() + static_cast<ptrdiff_t>(r) * w, w, sums, columns);
    }
    double windowSum = 0;
    double windowSquare = 0;
    for (int x = 0; x < w; ++x) {
      windowSum += sum[static_cast<size_t>(x)];
      windowSquare += square[static_cast<size_t>(x)];
    }
    for (int x = 0; x < columns; ++x) {
      const double variance = windowSquare - windowSum * windowSum / count;
      // A window flatter than a tenth of a grey level says nothing.
      sums[x] = variance > 0.01 * count
                    ? static_cast<float>(static_cast<double>(sums[x]) / std::sqrt(variance * energy))
                    : 0.0f;
      if (x + 1 < columns) {
        const auto leaving = static_cast<size_t>(x);
        const auto entering = static_cast<size_t>(x + w);
        windowSum += sum[entering] - sum[leaving];
        windowSquare += square[entering] - square[leaving];
      }
    }
    if (y + 1 < rows) {
      add(y, -1);
      add(y + h, 1);
    }
  }
}

std::vector<CorrelationPeak> highestPeaks(const FloatImage& scores, int separation, size_t count) {
  std::vector<CorrelationPeak> all;
  for (int y = 0; y < scores.height; ++y) {
    for (int x = 0; x < scores.width; ++x) {
      const float here = scores.row(y)[x];
      bool peak = here > 0;
      for (int j = std::max(0, y - 1); peak && j <= std::min(scores.height - 1, y + 1); ++j) {
        for (int i = std::max(0, x - 1); i <= std::min(scores.width - 1, x + 1); ++i) {
          if (scores.row(j)[i] > here) {
            peak = false;
            break;
          }
        }
      }
      if (peak) all.push_back({x, y, here});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const CorrelationPeak& a, const CorrelationPeak& b) { return a.score > b.score; });
  std::vector<CorrelationPeak> kept;
  for (const CorrelationPeak& candidate : all) {
    if (kept.size() >= count) break;
    const bool near = std::any_of(kept.begin(), kept.end(), [&](const CorrelationPeak& other) {
      return std::max(std::abs(other.x - candidate.x), std::abs(other.y - candidate.y)) < separation;
    });
    if (!near) kept.push_back(candidate);
  }
  return kept;
}

void reduceFloat(const FloatImage& in, int factor, FloatImage& out) {
  out.resize(in.width / factor, in.height / factor);
  const float scale = 1.0f / static_cast<float>(factor * factor);
  for (int y = 0; y < out.height; ++y) {
    float* to = out.row(y);
    std::fill(to, to + out.width, 0.0f);
    for (int j = 0; j < factor; ++j) {
      const float* from = in.row(y * factor + j);
      for (int x = 0; x < out.width; ++x) {
        for (int i = 0; i < factor; ++i) to[x] += from[x * factor + i];
      }
    }
    for (int x = 0; x < out.width; ++x) to[x] *= scale;
  }
}

}  // namespace surgiclaw::geometry
