#include "surgiclaw/geometry/ring.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "correlation.h"
#include "ring_fit.h"

namespace surgiclaw::geometry {
namespace {

constexpr double kMinScore = 0.55;     // Correlation of the fitted model with the frame.
constexpr double kMinContrast = 6;     // Grey levels between the wire and its surroundings.
constexpr double kMinDarkness = 0.15;  // The same as a share of the surroundings.
constexpr double kMinOpen = 0.08;      // Share of the expected difference to a filled disc that must be seen.
constexpr double kSameScore = 0.07;    // Scores this near each other count as equal.
constexpr double kMaxSize = 200;       // Largest half extent of a ring, px.

RingEstimate notFound(const char* reason) {
  RingEstimate result;
  result.reason = reason;
  return result;
}

// What the model looks like, dark as negative, for correlation.
FloatImage drawPattern(const RingShape& shape, const Box& box, double sigma) {
  FloatImage pattern;
  pattern.resize(box.width(), box.height());
  for (int y = 0; y < pattern.height; ++y) {
    for (int x = 0; x < pattern.width; ++x) {
      const double px = box.left + x;
      const double py = box.top + y;
      pattern.row(y)[x] =
          static_cast<float>(-std::max(shape.ring(px, py, sigma), shape.ribbonCover(px, py, sigma)));
    }
  }
  return pattern;
}

bool validModel(const RingModel& model) {
  const double ax = model.halfAxisA[0];
  const double ay = model.halfAxisA[1];
  const double bx = model.halfAxisB[0];
  const double by = model.halfAxisB[1];
  const double a = std::hypot(ax, ay);
  const double b = std::hypot(bx, by);
  const bool finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(model.wirePx) &&
                      std::isfinite(model.ribbonWidthPx) &&
                      std::isfinite(model.ribbonDirection[0] + model.ribbonDirection[1]);
  // An opening seen edge-on is no ring.
  return finite && a >= 2 && b >= 2 && a < kMaxSize && b < kMaxSize &&
         std::abs(ax * by - ay * bx) > 0.2 * a * b && model.wirePx >= 1 && model.wirePx < 40 &&
         model.ribbonWidthPx >= 0 && model.ribbonWidthPx < 200;
}

}  // namespace

RingEstimate findRing(const ImageView& image, double x, double y, double radius, const RingModel& model) {
  if (image.empty() || image.width < 64 || image.height < 64)
    return notFound("image empty or smaller than 64 px");
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(radius) || radius < 0)
    return notFound("values not finite");
  if (!validModel(model)) return notFound("the model has no opening");
  const RingShape shape(model);

  // Coarse: correlation on a reduced image, for a sharp and a blurred ring.
  const int factor = radius > 200 ? 4 : 2;
  const Box box = boxAround(shape, 6);
  const double range = std::max(6.0, std::ceil(radius));
  const int x0 = static_cast<int>(std::clamp(std::floor(x - range + box.left), 0.0, image.width - 1.0));
  const int y0 = static_cast<int>(std::clamp(std::floor(y - range + box.top), 0.0, image.height - 1.0));
  const int x1 = static_cast<int>(std::clamp(std::ceil(x + range + box.right), 0.0, image.width - 1.0));
  const int y1 = static_cast<int>(std::clamp(std::ceil(y + range + box.bottom), 0.0, image.height - 1.0));
  if (x1 - x0 + 1 < box.width() + factor || y1 - y0 + 1 < box.height() + factor) {
    return notFound("search region outside the image");
  }
  FloatImage window;
  window.resize(x1 - x0 + 1, y1 - y0 + 1);
  for (int j = 0; j < window.height; ++j) {
    for (int i = 0; i < window.width; ++i) window.row(j)[i] = static_cast<float>(image.row(y0 + j)[x0 + i]);
  }
  FloatImage reduced;
  reduceFloat(window, factor, reduced);

  struct Candidate {
    double x, y, score, sigma;
  };
  std::vector<Candidate> candidates;
  const int apart = std::max(2, static_cast<int>(0.5 * std::min(shape.extentX(), shape.extentY()) / factor));
  for (const double sigma : {1.2, 2.8, 5.5}) {
    const FloatImage pattern = drawPattern(shape, box, sigma);
    FloatImage small;
    FloatImage scores;
    reduceFloat(pattern, factor, small);
    correlate(reduced, small, scores);
    for (const CorrelationPeak& peak : highestPeaks(scores, apart, 24)) {
      // The same at full scale, a block to either side.
      const int fromX = std::clamp(peak.x * factor - factor, 0, window.width - pattern.width);
      const int fromY = std::clamp(peak.y * factor - factor, 0, window.height - pattern.height);
      FloatImage near;
      near.resize(std::min(window.width - fromX, pattern.width + 2 * factor),
                  std::min(window.height - fromY, pattern.height + 2 * factor));
      for (int j = 0; j < near.height; ++j) {
        const float* from = window.row(fromY + j) + fromX;
        std::copy(from, from + near.width, near.row(j));
      }
      FloatImage fine;
      correlate(near, pattern, fine);
      const auto best = std::max_element(fine.pixels.begin(), fine.pixels.end()) - fine.pixels.begin();
      const double cx = x0 + fromX + static_cast<int>(best % fine.width) - box.left;
      const double cy = y0 + fromY + static_cast<int>(best / fine.width) - box.top;
      if (std::max(std::abs(cx - x), std::abs(cy - y)) > range + factor) continue;
      candidates.push_back({cx, cy, static_cast<double>(fine.pixels[static_cast<size_t>(best)]), sigma});
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.score > b.score; });

  // Fine: position, blur and depths of the most promising, then the checks.
  std::vector<RingFit> rings;
  std::vector<Candidate> tried;
  bool sawDisc = false;
  const double same = std::max(shape.extentX(), shape.extentY());
  for (const Candidate& candidate : candidates) {
    if (candidate.score < 0.4 || candidate.score < 0.7 * candidates.front().score || tried.size() >= 8) break;
    const bool known = std::any_of(tried.begin(), tried.end(), [&](const Candidate& other) {
      return std::hypot(other.x - candidate.x, other.y - candidate.y) < 3;
    });
    if (known) continue;
    tried.push_back(candidate);
    const RingFit ring = refineRing(image, shape, candidate.x, candidate.y, candidate.sigma);
    // At the bound of the blur any dark patch will do for a ring.
    if (!ring.ok || ring.fit.score() < kMinScore || ring.sigma > 0.97 * kMaxRingBlur) continue;
    // Each for itself, wire and ribbon must be dark, and about equally so.
    const FitWindow own(image, shape, ring.x, ring.y, 4 + 2 * ring.sigma);
    const DepthFit hollow = own.fitAt(ring.x, ring.y, ring.sigma, false);
    const double dark = std::max(kMinContrast, kMinDarkness * hollow.surround);
    if (hollow.ringDepth < dark || hollow.ringDepth > 1.3 * hollow.surround) continue;
    if (shape.hasRibbon() &&
        (hollow.ribbonDepth < 0.5 * hollow.ringDepth || hollow.ribbonDepth > 2 * hollow.ringDepth)) {
      continue;
    }
    if (std::max(std::abs(ring.x - x), std::abs(ring.y - y)) > range) continue;
    const bool twice = std::any_of(rings.begin(), rings.end(), [&](const RingFit& other) {
      return std::hypot(other.x - ring.x, other.y - ring.y) < 0.4 * same;
    });
    if (twice) continue;
    const DepthFit filled = own.fitAt(ring.x, ring.y, ring.sigma, true);
    const double open = hollow.ringDepth * hollow.ringDepth * own.hollowEnergy(ring.x, ring.y, ring.sigma);
    if (filled.sum - hollow.sum < kMinOpen * open) {
      sawDisc = true;
      continue;
    }
    rings.push_back(ring);
  }
  if (rings.empty()) return notFound(sawDisc ? "no opening seen" : "nothing like a ring");

  // The best; among equals the one nearest to where it was expected.
  double top = 0;
  for (const RingFit& ring : rings) top = std::max(top, ring.fit.score());
  const RingFit* best = nullptr;
  const auto distance = [&](const RingFit& ring) { return std::hypot(ring.x - x, ring.y - y); };
  for (const RingFit& ring : rings) {
    if (ring.fit.score() < top - kSameScore) continue;
    if (best == nullptr || distance(ring) < distance(*best)) best = &ring;
  }
  double doubt = 0;
  for (const RingFit& ring : rings) {
    if (&ring == best || ring.fit.score() < top - kSameScore ||
        std::hypot(ring.x - best->x, ring.y - best->y) < same) {
      continue;
    }
    doubt = std::max(doubt, distance(*best) / std::max(1.0, distance(ring)));
  }
  if (doubt > 0.9) return notFound("ambiguous: two rings as near");

  RingEstimate result;
  result.found = true;
  result.x = best->x;
  result.y = best->y;
  // The floor: the loop is a bent wire, not an ellipse.
  result.sigmaPx = std::sqrt(best->positionVariance + 0.08 * 0.08 * (1 + best->sigma * best->sigma));
  result.edgeSigmaPx = best->sigma;
  result.confidence = std::clamp((best->fit.score() - 0.4) / 0.5, 0.0, 1.0) * (1 - 0.5 * doubt);
  return result;
}

}  // namespace surgiclaw::geometry
