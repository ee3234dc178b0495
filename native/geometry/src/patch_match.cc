#include "surgiclaw/geometry/patch_match.h"

#include <algorithm>
#include <cmath>

#include "correlation.h"
#include "covering_lines.h"
#include "sampling.h"

namespace surgiclaw::geometry {
namespace {

constexpr int kMaxPatch = 1024;
/// A match below this score may be hidden in part: it is tried again without what covers it.
constexpr double kDoubtful = 0.6;
/// Share of the patch that must be seen.
constexpr double kMinSeen = 0.5;

FloatImage toFloat(const ImageView& image, int x0, int y0, int width, int height) {
  FloatImage out;
  out.resize(width, height);
  for (int y = 0; y < height; ++y) {
    const uint8_t* from = image.row(y0 + y) + x0;
    float* to = out.row(y);
    for (int x = 0; x < width; ++x) to[x] = static_cast<float>(from[x]);
  }
  return out;
}

FloatImage subImage(const FloatImage& image, int x0, int y0, int width, int height) {
  FloatImage out;
  out.resize(width, height);
  for (int y = 0; y < height; ++y) {
    const float* from = image.row(y0 + y) + x0;
    std::copy(from, from + width, out.row(y));
  }
  return out;
}

struct Placement {
  double x = 0;  // Of the patch's top-left pixel in the window.
  double y = 0;
  double score = -1;
};

// The best placement within ±range of (x, y) on a window of the same scale.
Placement searchNear(const FloatImage& window, const FloatImage& patch, int x, int y, int range) {
  const int x0 = std::clamp(x - range, 0, window.width - patch.width);
  const int y0 = std::clamp(y - range, 0, window.height - patch.height);
  const int x1 = std::clamp(x + range, x0, window.width - patch.width);
  const int y1 = std::clamp(y + range, y0, window.height - patch.height);
  FloatImage scores;
  correlate(subImage(window, x0, y0, x1 - x0 + patch.width, y1 - y0 + patch.height), patch, scores);
  Placement best;
  for (int j = 0; j < scores.height; ++j) {
    for (int i = 0; i < scores.width; ++i) {
      const auto score = static_cast<double>(scores.row(j)[i]);
      if (score > best.score) best = {static_cast<double>(x0 + i), static_cast<double>(y0 + j), score};
    }
  }
  return best;
}

// NCC at a fractional placement, over the patch without its outermost pixels.
struct Warped {
  double score = -1;
  double stepX = 0;
  double stepY = 0;
};

// One Gauss–Newton step of Σ (I(x + d) − gain · T(x) − offset)² in d (Lucas–Kanade with gain and offset
// projected out). Pixels that `covered` marks (empty: none) do not count.
Warped alignStep(const FloatImage& window, const FloatImage& covered, const FloatImage& patch, double px,
                 double py) {
  const bool some = !covered.pixels.empty();
  double n = 0;
  double t = 0, i = 0, tt = 0, ii = 0, ti = 0;
  double gx = 0, gy = 0, gxx = 0, gxy = 0, gyy = 0, gxt = 0, gyt = 0, gxi = 0, gyi = 0;
  for (int y = 1; y + 1 < patch.height; ++y) {
    const float* row = patch.row(y);
    for (int x = 1; x + 1 < patch.width; ++x) {
      if (some && covered.row(static_cast<int>(py + y + 0.5))[static_cast<int>(px + x + 0.5)] > 0) continue;
      const auto T = static_cast<double>(row[x]);
      const double ax = 0.5 * static_cast<double>(row[x + 1] - row[x - 1]);
      const double ay = 0.5 * static_cast<double>(row[x + patch.width] - row[x - patch.width]);
      const auto I = static_cast<double>(bilinearInside(window.pixels.data(), window.width, px + x, py + y));
      n += 1;
      t += T;
      i += I;
      tt += T * T;
      ii += I * I;
      ti += T * I;
      gx += ax;
      gy += ay;
      gxx += ax * ax;
      gxy += ax * ay;
      gyy += ay * ay;
      gxt += ax * T;
      gyt += ay * T;
      gxi += ax * I;
      gyi += ay * I;
    }
  }
  Warped result;
  if (n < kMinSeen * patch.width * patch.height) return result;
  const double varT = tt - t * t / n;
  const double varI = ii - i * i / n;
  const double cov = ti - t * i / n;
  if (!(varT > 1e-6 * n) || !(varI > 1e-6 * n)) return result;
  result.score = cov / std::sqrt(varT * varI);
  const double gain = cov / varT;
  if (!(gain > 1e-6)) return result;
  // Covariances with constant and template removed.
  const auto remove = [&](double product, double sumA, double dotA, double sumB, double dotB) {
    const double a = dotA - sumA * t / n;
    const double b = dotB - sumB * t / n;
    return product - sumA * sumB / n - a * b / varT;
  };
  const double hxx = remove(gxx, gx, gxt, gx, gxt);
  const double hxy = remove(gxy, gx, gxt, gy, gyt);
  const double hyy = remove(gyy, gy, gyt, gy, gyt);
  const double bx = remove(gxi, gx, gxt, i, ti);
  const double by = remove(gyi, gy, gyt, i, ti);
  const double determinant = hxx * hyy - hxy * hxy;
  if (!(determinant > 1e-9 * hxx * hyy)) return result;
  // The window at the present placement looks like gain · (T + ∇T · e): the patch lies e further back.
  result.stepX = -(hyy * bx - hxy * by) / (determinant * gain);
  result.stepY = -(hxx * by - hxy * bx) / (determinant * gain);
  return result;
}

// Sub-pixel placement from a whole-pixel peak; falls back to the peak when the steps wander off.
Placement alignFinely(const FloatImage& window, const FloatImage& covered, const FloatImage& patch,
                      const Placement& start) {
  Placement now = start;
  Placement best = start;
  best.score = -1;
  for (int step = 0; step < 8; ++step) {
    if (now.x < 0 || now.y < 0 || now.x + patch.width > window.width || now.y + patch.height > window.height)
      break;
    const Warped warped = alignStep(window, covered, patch, now.x, now.y);
    if (warped.score > best.score) best = {now.x, now.y, warped.score};
    if (std::hypot(warped.stepX, warped.stepY) < 0.002) break;
    now.x += std::clamp(warped.stepX, -0.7, 0.7);
    now.y += std::clamp(warped.stepY, -0.7, 0.7);
    if (std::max(std::abs(now.x - start.x), std::abs(now.y - start.y)) > 1.5) break;
  }
  if (best.score < 0) best = start;
  return best;
}

struct Found {
  Placement placed;  // To the whole pixel.
  Placement fine;
  double distinctness = 0;
};

// The best placement of the patch in the window, coarse to fine; `covered` as in alignStep.
Found search(const FloatImage& window, const FloatImage& covered, const FloatImage& full, double range) {
  // The coarsest level keeps at least 16 px of patch.
  const int smallest = std::min(full.width, full.height);
  int factor = 1;
  if (range > 8 && smallest >= 32) factor = 2;
  if (range > 80 && smallest >= 64) factor = 4;

  constexpr size_t kCandidates = 6;
  FloatImage coarseWindow;
  FloatImage coarsePatch;
  FloatImage scores;
  reduceFloat(window, factor, coarseWindow);
  reduceFloat(full, factor, coarsePatch);
  correlate(coarseWindow, coarsePatch, scores);
  const int apart = std::max(1, smallest / 4 / factor);
  std::vector<CorrelationPeak> peaks = highestPeaks(scores, apart, kCandidates);

  Placement best;
  double second = -1;
  std::vector<Placement> placements;
  for (const CorrelationPeak& peak : peaks) {
    int px = peak.x * factor;
    int py = peak.y * factor;
    if (factor == 4) {
      FloatImage halfWindow;
      FloatImage halfPatch;
      // Only what the next step can reach is reduced again.
      const int x0 = std::clamp((px - 8) & ~1, 0, window.width - full.width);
      const int y0 = std::clamp((py - 8) & ~1, 0, window.height - full.height);
      const int w = std::min(window.width - x0, full.width + 16);
      const int h = std::min(window.height - y0, full.height + 16);
      reduceFloat(subImage(window, x0, y0, w, h), 2, halfWindow);
      reduceFloat(full, 2, halfPatch);
      const Placement half = searchNear(halfWindow, halfPatch, (px - x0) / 2, (py - y0) / 2, 3);
      px = x0 + static_cast<int>(half.x) * 2;
      py = y0 + static_cast<int>(half.y) * 2;
    }
    const Placement placed = factor > 1 ? searchNear(window, full, px, py, 2)
                                        : Placement{static_cast<double>(px), static_cast<double>(py),
                                                    static_cast<double>(peak.score)};
    placements.push_back(placed);
    if (placed.score > best.score) best = placed;
  }
  for (const Placement& placed : placements) {
    if (std::max(std::abs(placed.x - best.x), std::abs(placed.y - best.y)) >= 0.25 * smallest) {
      second = std::max(second, placed.score);
    }
  }
  Found found;
  found.placed = best;
  if (!(best.score > 0)) return found;
  found.fine = alignFinely(window, covered, full, best);
  // Covered places have been filled by guesses: only what is seen speaks for them.
  if (covered.pixels.empty()) found.fine.score = std::max(found.fine.score, best.score);
  found.distinctness = found.fine.score - std::max(0.0, second);
  return found;
}

}  // namespace

Patch cutPatch(const ImageView& image, double x, double y, int width, int height,
               const std::array<double, 4>& affine) {
  Patch patch;
  const bool finite = std::isfinite(x) && std::isfinite(y) &&
                      std::all_of(affine.begin(), affine.end(), [](double a) { return std::isfinite(a); });
  if (image.empty() || image.width < 2 || image.height < 2 || !finite || width < 1 || height < 1 ||
      width > kMaxPatch || height > kMaxPatch) {
    return patch;
  }
  patch.width = width;
  patch.height = height;
  patch.pixels.resize(static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int j = 0; j < height; ++j) {
    const double v = j - 0.5 * (height - 1);
    for (int i = 0; i < width; ++i) {
      const double u = i - 0.5 * (width - 1);
      const float value =
          sampleAt(image, x + affine[0] * u + affine[1] * v, y + affine[2] * u + affine[3] * v);
      patch.pixels[static_cast<size_t>(j) * static_cast<size_t>(width) + static_cast<size_t>(i)] =
          static_cast<uint8_t>(std::lround(value));
    }
  }
  return patch;
}

PatchMatch matchPatch(const ImageView& image, const ImageView& patch, double x, double y, double radius,
                      const PatchMatchOptions& options) {
  PatchMatch match;
  if (image.empty() || patch.empty() || patch.width < 8 || patch.height < 8 || patch.width > kMaxPatch ||
      patch.height > kMaxPatch || !std::isfinite(x) || !std::isfinite(y) || !(radius >= 0) ||
      !std::isfinite(radius)) {
    return match;
  }
  // Top-left placements allowed: the search square, cut to the frame, with one pixel to spare for sub-pixel
  // steps.
  const double left = x - 0.5 * (patch.width - 1);
  const double top = y - 0.5 * (patch.height - 1);
  const double range = std::ceil(std::max(2.0, radius));
  const int firstX = static_cast<int>(std::clamp(std::floor(left - range), 0.0, 1e6));
  const int firstY = static_cast<int>(std::clamp(std::floor(top - range), 0.0, 1e6));
  const int lastX =
      static_cast<int>(std::clamp(std::ceil(left + range), -1.0, 1.0 * image.width - patch.width));
  const int lastY =
      static_cast<int>(std::clamp(std::ceil(top + range), -1.0, 1.0 * image.height - patch.height));
  if (lastX < firstX || lastY < firstY) return match;

  const FloatImage window =
      toFloat(image, firstX, firstY, lastX - firstX + patch.width, lastY - firstY + patch.height);
  const FloatImage full = toFloat(patch, 0, 0, patch.width, patch.height);

  Found found = search(window, {}, full, radius);
  if (found.fine.score < kDoubtful) {
    const FloatImage covered = findCoveringLines(window);
    if (!covered.pixels.empty()) {
      const Found uncovered = search(fillCovered(window, covered), covered, full, radius);
      if (uncovered.fine.score > found.fine.score) found = uncovered;
    }
  }
  if (!(found.fine.score > 0)) return match;

  const Placement& fine = found.fine;
  const Placement& best = found.placed;
  match.x = firstX + fine.x + 0.5 * (patch.width - 1);
  match.y = firstY + fine.y + 0.5 * (patch.height - 1);
  match.score = fine.score;
  match.distinctness = found.distinctness;
  // On the rim of the search square the true place may lie outside; where the frame ends, too.
  const bool rim =
      best.x < 0.5 || best.y < 0.5 || best.x > lastX - firstX - 0.5 || best.y > lastY - firstY - 0.5;
  match.found = !rim && match.score >= options.minScore && match.distinctness >= options.minDistinctness;
  return match;
}

}  // namespace surgiclaw::geometry
