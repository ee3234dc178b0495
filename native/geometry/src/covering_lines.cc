#include "covering_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace surgiclaw::geometry {
namespace {

/// Half sides of the surroundings that a pixel is compared with, and of those that fill it, px.
constexpr int kSurroundings = 28;
/// Darker than the surroundings by this many robust deviations: beyond what texture does over a length.
constexpr float kDeviations = 3.0f;
/// Grains of texture are shorter than a line, px.
constexpr int kMinExtent = 32;
/// The blurred flanks of a line belong to it, px.
constexpr int kFlank = 5;

// Sums of value × weight and of weight over squares, from integral images.
class BoxMeans {
 public:
  BoxMeans(const FloatImage& image, const FloatImage* without) : width_(image.width), height_(image.height) {
    const auto stride = static_cast<size_t>(width_) + 1;
    sums_.assign(stride * (static_cast<size_t>(height_) + 1), 0.0);
    weights_ = sums_;
    for (int y = 0; y < height_; ++y) {
      double sum = 0;
      double weight = 0;
      for (int x = 0; x < width_; ++x) {
        const bool counts = without == nullptr || !(without->row(y)[x] > 0);
        sum += counts ? static_cast<double>(image.row(y)[x]) : 0;
        weight += counts ? 1 : 0;
        const size_t at = (static_cast<size_t>(y) + 1) * stride + static_cast<size_t>(x) + 1;
        sums_[at] = sums_[at - stride] + sum;
        weights_[at] = weights_[at - stride] + weight;
      }
    }
  }

  /// NaN where no pixel of the square counts.
  float at(int x, int y, int radius) const {
    const int x0 = std::max(0, x - radius);
    const int x1 = std::min(width_, x + radius + 1);
    const int y0 = std::max(0, y - radius);
    const int y1 = std::min(height_, y + radius + 1);
    return static_cast<float>(over(sums_, x0, y0, x1, y1) / over(weights_, x0, y0, x1, y1));
  }

 private:
  double over(const std::vector<double>& integral, int x0, int y0, int x1, int y1) const {
    const auto at = [&](int x, int y) {
      return integral[static_cast<size_t>(y) * (static_cast<size_t>(width_) + 1) + static_cast<size_t>(x)];
    };
    return at(x1, y1) - at(x0, y1) - at(x1, y0) + at(x0, y0);
  }

  int width_;
  int height_;
  std::vector<double> sums_;
  std::vector<double> weights_;
};

float medianOf(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Drops connected parts (8 neighbours) that are no longer than a grain; says whether any is left.
bool keepLines(FloatImage& mask) {
  std::vector<int> stack;
  std::vector<int> part;
  std::vector<uint8_t> seen(mask.pixels.size(), 0);
  bool any = false;
  for (int start = 0; start < mask.width * mask.height; ++start) {
    if (!(mask.pixels[static_cast<size_t>(start)] > 0) || seen[static_cast<size_t>(start)] != 0) continue;
    stack.assign(1, start);
    part.clear();
    seen[static_cast<size_t>(start)] = 1;
    int minX = mask.width, maxX = 0, minY = mask.height, maxY = 0;
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      part.push_back(at);
      const int x = at % mask.width;
      const int y = at / mask.width;
      minX = std::min(minX, x);
      maxX = std::max(maxX, x);
      minY = std::min(minY, y);
      maxY = std::max(maxY, y);
      for (int j = std::max(0, y - 1); j <= std::min(mask.height - 1, y + 1); ++j) {
        for (int i = std::max(0, x - 1); i <= std::min(mask.width - 1, x + 1); ++i) {
          const int next = j * mask.width + i;
          if (!(mask.pixels[static_cast<size_t>(next)] > 0) || seen[static_cast<size_t>(next)] != 0) continue;
          seen[static_cast<size_t>(next)] = 1;
          stack.push_back(next);
        }
      }
    }
    if (std::max(maxX - minX, maxY - minY) + 1 >= kMinExtent) {
      any = true;
    } else {
      for (const int at : part) mask.pixels[static_cast<size_t>(at)] = 0;
    }
  }
  return any;
}

// Every pixel within `radius` (Chebyshev) of a covered one is covered.
FloatImage widened(const FloatImage& mask, int radius) {
  FloatImage rows;
  rows.resize(mask.width, mask.height);
  std::fill(rows.pixels.begin(), rows.pixels.end(), 0.0f);
  FloatImage out = rows;
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) {
      if (!(mask.row(y)[x] > 0)) continue;
      const int from = std::max(0, x - radius);
      const int to = std::min(mask.width - 1, x + radius);
      std::fill(rows.row(y) + from, rows.row(y) + to + 1, 1.0f);
    }
  }
  for (int y = 0; y < mask.height; ++y) {
    for (int j = std::max(0, y - radius); j <= std::min(mask.height - 1, y + radius); ++j) {
      for (int x = 0; x < mask.width; ++x) out.row(y)[x] = std::max(out.row(y)[x], rows.row(j)[x]);
    }
  }
  return out;
}

}  // namespace

FloatImage findCoveringLines(const FloatImage& image) {
  FloatImage mask;
  if (image.width < kMinExtent || image.height < kMinExtent) return mask;
  const BoxMeans means(image, nullptr);
  FloatImage darker;
  darker.resize(image.width, image.height);
  std::vector<float> sizes(darker.pixels.size());
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      // A little smoothing takes the noise of single pixels away.
      const float difference = means.at(x, y, 1) - means.at(x, y, kSurroundings);
      darker.row(y)[x] = difference;
      sizes[static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)] =
          std::abs(difference);
    }
  }
  const float deviation = 1.4826f * medianOf(std::move(sizes));
  if (!(deviation > 0)) return mask;
  mask.resize(image.width, image.height);
  for (size_t i = 0; i < mask.pixels.size(); ++i) {
    mask.pixels[i] = darker.pixels[i] < -kDeviations * deviation ? 1.0f : 0.0f;
  }
  if (!keepLines(mask)) return {};
  return widened(mask, kFlank);
}

FloatImage fillCovered(const FloatImage& image, const FloatImage& covered) {
  FloatImage out = image;
  const BoxMeans seen(image, &covered);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (!(covered.row(y)[x] > 0)) continue;
      const float mean = seen.at(x, y, kSurroundings);
      if (std::isfinite(mean)) out.row(y)[x] = mean;
    }
  }
  return out;
}

}  // namespace surgiclaw::geometry
