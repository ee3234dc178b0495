#include "surgiclaw/geometry/image_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "vector_targets.h"

namespace surgiclaw::geometry {
namespace {

constexpr int kTile = 256;           // Columns of a noise block; its 32-bit sums of squares cannot overflow.
constexpr int kBlockRows = 4;        // Sampled rows of a noise block.
constexpr int kGroups = 6;           // Brightness groups, because shot noise grows with brightness.
constexpr int64_t kLarge = 1 << 19;  // Above it rows are sampled.

struct RowSums {
  int64_t brenner = 0;
  int64_t tenengrad = 0;
  int64_t laplacian = 0;  // Of |L|, Immerkær's mask.
  int64_t grey = 0;
};

// Sum of squares: 16-bit products summed in 32 bits are one vector instruction when the loop holds nothing
// else.
SURGICLAW_VECTOR_TARGETS
int sumOfSquares(const int16_t* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

SURGICLAW_VECTOR_TARGETS
int sumOf(const uint8_t* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i];
  return sum;
}

SURGICLAW_VECTOR_TARGETS
int sumOfSizes(const int16_t* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] < 0 ? -values[i] : values[i];
  return sum;
}

// Gradients and Laplacian of `count` ≤ kTile pixels; the row pointers sit one pixel left of the first one.
SURGICLAW_VECTOR_TARGETS
void differentiate(const uint8_t* above, const uint8_t* here, const uint8_t* below, int count,
                   int16_t* difference, int16_t* gx, int16_t* gy, int16_t* laplacian) {
  int16_t smooth[kTile + 2];
  int16_t slope[kTile + 2];
  int16_t curve[kTile + 2];
  for (int i = 0; i < count + 2; ++i) {
    const auto a = static_cast<int16_t>(above[i]);
    const auto b = static_cast<int16_t>(here[i]);
    const auto c = static_cast<int16_t>(below[i]);
    smooth[i] = static_cast<int16_t>(a + 2 * b + c);
    slope[i] = static_cast<int16_t>(c - a);
    curve[i] = static_cast<int16_t>(a - 2 * b + c);
  }
  for (int i = 0; i < count; ++i) {
    difference[i] = static_cast<int16_t>(here[i + 2] - here[i]);
    gx[i] = static_cast<int16_t>(smooth[i + 2] - smooth[i]);
    gy[i] = static_cast<int16_t>(slope[i] + 2 * slope[i + 1] + slope[i + 2]);
    laplacian[i] = static_cast<int16_t>(curve[i] - 2 * curve[i + 1] + curve[i + 2]);
  }
}

RowSums tileSums(const uint8_t* above, const uint8_t* here, const uint8_t* below, int count) {
  int16_t difference[kTile];
  int16_t gx[kTile];
  int16_t gy[kTile];
  int16_t laplacian[kTile];
  differentiate(above, here, below, count, difference, gx, gy, laplacian);
  return {sumOfSquares(difference, count), sumOfSquares(gx, count) + sumOfSquares(gy, count),
          sumOfSizes(laplacian, count), sumOf(here + 1, count)};
}

// Eight interleaved tables: neighbouring pixels of the same grey level would otherwise wait for each other's
// store.
void addHistogram(const uint8_t* row, int count, uint32_t (&tables)[8][256]) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t word;
    std::memcpy(&word, row + i, 8);
    ++tables[0][word & 255];
    ++tables[1][(word >> 8) & 255];
    ++tables[2][(word >> 16) & 255];
    ++tables[3][(word >> 24) & 255];
    ++tables[4][(word >> 32) & 255];
    ++tables[5][(word >> 40) & 255];
    ++tables[6][(word >> 48) & 255];
    ++tables[7][word >> 56];
  }
  for (; i < count; ++i) ++tables[0][row[i]];
}

// The grey level below which a share of the pixels lies, interpolated inside the level's bin.
double percentile(const std::array<uint64_t, 256>& histogram, uint64_t total, double share) {
  const double wanted = share * static_cast<double>(total);
  double below = 0;
  for (size_t level = 0; level < 256; ++level) {
    const auto here = static_cast<double>(histogram[level]);
    if (here > 0 && below + here >= wanted) {
      return std::clamp(static_cast<double>(level) - 0.5 + (wanted - below) / here, 0.0, 255.0);
    }
    below += here;
  }
  return 255;
}

struct Block {
  double grey;
  double variance;
};

// Noise variance at the region's mean brightness: blocks sorted by brightness into groups; in each a low
// quantile, so that blocks with structure do not count; the mean over the groups.
double noiseVariance(std::vector<Block>& blocks) {
  if (blocks.empty()) return 0;
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.grey < b.grey; });
  const size_t groups = std::min<size_t>(kGroups, blocks.size());
  double sum = 0;
  for (size_t g = 0; g < groups; ++g) {
    const auto begin = blocks.begin() + static_cast<ptrdiff_t>(g * blocks.size() / groups);
    const auto end = blocks.begin() + static_cast<ptrdiff_t>((g + 1) * blocks.size() / groups);
    const auto middle = begin + (end - begin) * 3 / 10;
    std::nth_element(begin, middle, end,
                     [](const Block& a, const Block& b) { return a.variance < b.variance; });
    sum += middle->variance;
  }
  return sum / static_cast<double>(groups);
}

}  // namespace

ImageMetrics measureImage(const ImageView& image, const Roi& roi) {
  ImageMetrics metrics;
  if (image.empty()) return metrics;
  const Roi region = clipRoi(roi, image);
  if (region.width <= 0 || region.height <= 0) return metrics;

  const bool large = static_cast<int64_t>(region.width) * region.height > kLarge;
  const int histogramStep = large ? 2 : 1;
  const int gradientStep = large ? 4 : 1;

  uint32_t tables[8][256] = {};
  thread_local std::vector<RowSums> strip;
  thread_local std::vector<Block> blocks;
  const int inner = region.width - 2;
  const int tiles = inner > 0 ? (inner + kTile - 1) / kTile : 0;
  strip.assign(static_cast<size_t>(tiles), RowSums{});
  blocks.clear();

  RowSums total;
  int64_t samples = 0;
  int stripRows = 0;
  const auto flushStrip = [&] {
    for (int t = 0; t < tiles; ++t) {
      RowSums& sums = strip[static_cast<size_t>(t)];
      const int count = std::min(kTile, inner - t * kTile) * stripRows;
      // σ = √(π/2) · mean|L| / 6 for Gaussian noise; 1.02 undoes the low quantile taken below (blocks of 1024
      // pixels scatter by 4 %).
      const double sigma =
          1.02 * 1.2533141373155 / 6.0 * static_cast<double>(sums.laplacian) / std::max(1, count);
      if (count >= kTile) blocks.push_back({static_cast<double>(sums.grey) / count, sigma * sigma});
      total.brenner += sums.brenner;
      total.tenengrad += sums.tenengrad;
      sums = RowSums{};
    }
    stripRows = 0;
  };

  for (int y = 0; y < region.height; ++y) {
    const uint8_t* row = image.row(region.y + y) + region.x;
    if (y % histogramStep == 0) addHistogram(row, region.width, tables);
    if (y % gradientStep == gradientStep / 2 && y >= 1 && y + 1 < region.height && tiles > 0) {
      for (int t = 0; t < tiles; ++t) {
        const int count = std::min(kTile, inner - t * kTile);
        const uint8_t* here = row + t * kTile;
        const RowSums sums = tileSums(here - image.stride, here, here + image.stride, count);
        RowSums& into = strip[static_cast<size_t>(t)];
        into.brenner += sums.brenner;
        into.tenengrad += sums.tenengrad;
        into.laplacian += sums.laplacian;
        into.grey += sums.grey;
      }
      samples += inner;
      if (++stripRows == kBlockRows) flushStrip();
    }
  }
  if (stripRows > 0) flushStrip();

  std::array<uint64_t, 256> histogram{};
  uint64_t pixels = 0;
  double sum = 0;
  for (size_t level = 0; level < 256; ++level) {
    for (const auto& table : tables) histogram[level] += table[level];
    pixels += histogram[level];
    sum += static_cast<double>(level) * static_cast<double>(histogram[level]);
  }
  const auto count = static_cast<double>(pixels);
  metrics.mean = sum / count;
  metrics.p01 = percentile(histogram, pixels, 0.01);
  metrics.p50 = percentile(histogram, pixels, 0.50);
  metrics.p99 = percentile(histogram, pixels, 0.99);
  metrics.clippedLow = static_cast<double>(histogram[0] + histogram[1] + histogram[2]) / count;
  metrics.clippedHigh = static_cast<double>(histogram[253] + histogram[254] + histogram[255]) / count;

  if (samples > 0) {
    const double variance = noiseVariance(blocks);
    metrics.noiseSigma = std::sqrt(variance);
    const auto n = static_cast<double>(samples);
    metrics.brenner = std::max(0.0, static_cast<double>(total.brenner) / n - 2 * variance);
    metrics.tenengrad = std::max(0.0, static_cast<double>(total.tenengrad) / n - 24 * variance);
  }
  return metrics;
}

}  // namespace surgiclaw::geometry
