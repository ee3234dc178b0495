#include "surgiclaw/geometry/needle.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bar_search.h"
#include "needle_axis.h"
#include "needle_tip.h"
#include "reduce.h"

namespace surgiclaw::geometry {
namespace {

constexpr double kMinConfidence = 0.45;
constexpr double kTipRange = 130;  // How far the coarse tip may be off, px.

NeedleEstimate notFound(const char* reason) {
  NeedleEstimate result;
  result.reason = reason;
  return result;
}

bool inside(const Roi& roi, double x, double y) {
  return x >= roi.x && y >= roi.y && x <= roi.x + roi.width - 1 && y <= roi.y + roi.height - 1;
}

// From a rough bar to an estimate: axis, tip, checks.
NeedleEstimate refineBar(const ImageView& image, const Bar& bar, const NeedleSearchOptions& options) {
  AxisFrame rough;
  rough.originX = bar.tipX;
  rough.originY = bar.tipY;
  rough.directionX = bar.directionX;
  rough.directionY = bar.directionY;
  NeedleAxis axis = fitNeedleAxis(image, rough, bar.widthPx, bar.lengthPx, options.minContrast);
  if (!axis.ok) return notFound(axis.reason);
  if (axis.depth < options.minContrast) return notFound("low contrast");
  if (axis.sigma > 0.5 * axis.shankWidth) return notFound("too blurred");
  if (axis.support < 0.4) return notFound("edges are not straight");
  // A vessel wanders: its middles leave the line by more than blur and noise explain.
  const double doubt = options.known ? 2 : 1;
  if (axis.wander > doubt) return notFound("edges are not straight");

  // Twice: width and blur at the tip can be told only once the tip is known.
  const NeedleTip firstTip = fitNeedleTip(image, axis, 0, kTipRange + 3 * axis.sigma);
  if (!firstTip.ok) return notFound(firstTip.reason);
  if (!measureNearTip(axis, firstTip.s)) return notFound("too few profiles near the tip");
  if (axis.shankWidth < options.minWidthPx || axis.shankWidth > options.maxWidthPx) {
    return notFound("width is not a needle's");
  }
  const NeedleTip tip = fitNeedleTip(image, axis, firstTip.s, 6 + axis.sigma);
  if (!tip.ok) return notFound(tip.reason);

  // The end has the shaft's contrast, unless it is seen against something else: then its place is not to be
  // trusted.
  const double ratio =
      (tip.depth / std::max(1.0, tip.surround)) / (axis.depth / std::max(1.0, axis.surround));
  const bool beside = tip.flank > 0.12 * axis.depth / std::max(1.0, axis.surround);
  if (ratio < (options.known ? 0.15 : beside ? 0.28 : 0.5) || ratio > (options.known ? 4 : 2.5))
    return notFound("tip stands against something dark");
  const double tilt = std::abs(std::atan2(axis.frame.directionX, axis.frame.directionY));
  if (tilt > options.maxTiltRad + 0.02) return notFound("no straight dark bar");

  NeedleEstimate result;
  result.tipX = axis.frame.x(tip.s, 0);
  result.tipY = axis.frame.y(tip.s, 0);
  result.directionX = axis.frame.directionX;
  result.directionY = axis.frame.directionY;
  result.widthPx = axis.shankWidth;
  result.edgeSigmaPx = axis.sigma;
  result.sharpestPx = axis.sharpest - tip.s;
  result.tipSigmaPx = tip.sigma;
  result.acrossSigmaPx = std::hypot(axis.acrossSigma, axis.angleSigma * tip.s);
  result.angleSigmaRad = axis.angleSigma;
  const double contrast = std::clamp(axis.depth / std::max(1.0, axis.surround) / 0.4, 0.0, 1.0);
  const double straight = 1 - std::clamp(0.5 * axis.wander - 0.3, 0.0, 0.5);
  const double clean = std::clamp(1.2 - 2 * tip.residual / axis.depth, 0.0, 1.0);
  const double consistent = std::clamp(1.7 - std::abs(std::log(ratio)), 0.55, 1.0);
  // Needles taper towards the tip, side branches of vessels do not.
  const double tapered = axis.tipWidth < 0.9 * axis.shankWidth ? 1.0 : 0.8;
  result.confidence = std::clamp(axis.support, 0.0, 1.0) * contrast * straight * clean * consistent * tapered;
  if (!std::isfinite(result.tipX) || !std::isfinite(result.tipY) || !std::isfinite(result.tipSigmaPx)) {
    return notFound("values not finite");
  }
  // A stretch of vessel passes each check just so; a needle passes some of them well.
  if (!(result.confidence >= kMinConfidence / doubt)) return notFound("doubtful");
  result.found = true;
  return result;
}

bool sameBar(const Bar& a, const Bar& b) {
  const double sine = std::abs(a.directionX * b.directionY - a.directionY * b.directionX);
  const double across = std::abs((b.tipX - a.tipX) * a.directionY - (b.tipY - a.tipY) * a.directionX);
  return sine < 0.05 && across < 0.7 * std::max(a.widthPx, b.widthPx);
}

struct Workspace {
  Reduced quarter;
  Reduced eighth;
  std::vector<Bar> bars;
};

Workspace& workspace() {
  thread_local Workspace space;
  return space;
}

// The heaviest candidate that proves to be a needle, and whether another one is as good.
NeedleEstimate judge(const ImageView& image, const std::vector<Bar>& bars, const NeedleSearchOptions& options,
                     const Roi& tipRegion, bool needBorder) {
  const char* reason = "no straight dark bar";
  NeedleEstimate best;
  const Bar* bestBar = nullptr;
  int refined = 0;
  for (const Bar& bar : bars) {
    if (bestBar != nullptr && (bar.weight < 0.6 * bestBar->weight || sameBar(bar, *bestBar))) continue;
    if (needBorder && !bar.fromBorder) {
      if (bestBar == nullptr && refined == 0) reason = "no bar enters from the border";
      continue;
    }
    if (!bar.tipInside || !inside(tipRegion, bar.tipX, bar.tipY)) {
      if (bestBar == nullptr && refined == 0) reason = "tip not in view";
      continue;
    }
    if (++refined > 3) break;
    NeedleEstimate estimate = refineBar(image, bar, options);
    if (!estimate.found && bar.laterEndPx > 0) {
      Bar longer = bar;
      longer.tipX += bar.laterEndPx * bar.directionX;
      longer.tipY += bar.laterEndPx * bar.directionY;
      longer.lengthPx += bar.laterEndPx;
      if (inside(tipRegion, longer.tipX, longer.tipY)) estimate = refineBar(image, longer, options);
    }
    if (!estimate.found) {
      if (bestBar == nullptr) reason = estimate.reason;
      continue;
    }
    if (bestBar != nullptr) {
      if (estimate.confidence > 0.6 * best.confidence) return notFound("ambiguous: two bars as good");
      continue;
    }
    best = estimate;
    bestBar = &bar;
  }
  return bestBar != nullptr ? best : notFound(reason);
}

bool usable(const ImageView& image) { return !image.empty() && image.width >= 128 && image.height >= 128; }

}  // namespace

NeedleEstimate findNeedle(const ImageView& image, const NeedleSearchOptions& options) {
  if (!usable(image)) return notFound("image empty or smaller than 128 px");
  const Roi tipRegion = clipRoi(options.roi, image);
  if (tipRegion.width < 2 || tipRegion.height < 2) return notFound("region outside the image");
  Workspace& space = workspace();
  reduceBy4(image, {0, 0, image.width, image.height}, space.quarter);
  halve(space.quarter, space.eighth);
  BarSearchOptions search;
  search.angleRangeRad = options.maxTiltRad;
  search.minWidthPx = options.minWidthPx;
  search.maxWidthPx = options.maxWidthPx * 1.5;
  search.minContrast = options.minContrast;
  search.minLengthPx = options.minVisibleLengthPx;
  findBars(space.quarter, space.eighth, search, space.bars);
  return judge(image, space.bars, options, tipRegion, true);
}

NeedleEstimate trackNeedle(const ImageView& image, const NeedleEstimate& prior,
                           const NeedleTrackOptions& options) {
  if (!usable(image)) return notFound("image empty or smaller than 128 px");
  const double norm = std::hypot(prior.directionX, prior.directionY);
  if (!prior.found || !std::isfinite(prior.tipX) || !std::isfinite(prior.tipY) || !(norm > 0.5)) {
    return options.allowFullSearch ? findNeedle(image, options.search) : notFound("no prior");
  }
  const double dx = prior.directionX / norm;
  const double dy = prior.directionY / norm;
  // The region that holds the last kLength px of the needle wherever the tip may have gone.
  constexpr double kLength = 520;
  const double margin = options.maxShiftPx + 60;
  const double backX = prior.tipX - kLength * dx;
  const double backY = prior.tipY - kLength * dy;
  Roi region;
  region.x = static_cast<int>(std::floor(std::min(prior.tipX, backX) - margin));
  region.y = static_cast<int>(std::floor(std::min(prior.tipY, backY) - margin));
  region.width = static_cast<int>(std::abs(prior.tipX - backX) + 2 * margin);
  region.height = static_cast<int>(std::abs(prior.tipY - backY) + 2 * margin);
  region = clipRoi(region, image);
  region.x &= ~7;
  if (region.width >= 128 && region.height >= 128) {
    Workspace& space = workspace();
    reduceBy4(image, region, space.quarter);
    halve(space.quarter, space.eighth);
    BarSearchOptions search;
    search.centreAngleRad = std::atan2(dx, dy);
    search.angleRangeRad = options.maxTurnRad + 0.02;
    search.minWidthPx = std::max(options.search.minWidthPx, 0.6 * prior.widthPx);
    search.maxWidthPx = options.search.maxWidthPx * 1.5;
    search.minContrast = options.search.minContrast;
    search.minLengthPx = options.search.minVisibleLengthPx;
    search.maxCandidates = 3;
    findBars(space.quarter, space.eighth, search, space.bars);
    const Roi tipRegion = {
        static_cast<int>(prior.tipX - options.maxShiftPx), static_cast<int>(prior.tipY - options.maxShiftPx),
        static_cast<int>(2 * options.maxShiftPx), static_cast<int>(2 * options.maxShiftPx)};
    NeedleSearchOptions known = options.search;
    known.known = true;
    const NeedleEstimate tracked = judge(image, space.bars, known, tipRegion, true);
    if (tracked.found || !options.allowFullSearch) return tracked;
  }
  return options.allowFullSearch ? findNeedle(image, options.search) : notFound("prior outside the image");
}

}  // namespace surgiclaw::geometry
