// The needle in one frame: axis, sub-pixel tip, blur; from nothing (findNeedle) or from a prior
// (trackNeedle).
#pragma once

#include <limits>

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// A needle in one frame. Pixels; the direction is a unit vector from the shank to the tip.
struct NeedleEstimate {
  bool found = false;
  /// Why not, when not found; a static string, "" when found.
  const char* reason = "";
  double tipX = 0;
  double tipY = 0;
  double directionX = 0;
  double directionY = 1;
  double widthPx = 0;      ///< Shank width above the taper, edge to edge.
  double edgeSigmaPx = 0;  ///< Blur of the edges near the tip: sigma of the edge spread function.
  /// How far above the tip the shank is sharpest, from the growth of its blur: where the plane of focus cuts
  /// it. Below 0 beyond the tip. NaN when the blur is not seen to have a minimum.
  double sharpestPx = std::numeric_limits<double>::quiet_NaN();
  double tipSigmaPx = 0;     ///< Standard deviation of the tip along the axis.
  double acrossSigmaPx = 0;  ///< Standard deviation of the tip across the axis.
  double angleSigmaRad = 0;  ///< Standard deviation of the direction.
  double confidence = 0;     ///< 0…1.
};

struct NeedleSearchOptions {
  Roi roi = {};  ///< Where the tip may lie; the whole frame when empty. The shank may leave it.
  double minWidthPx = 16;
  double maxWidthPx = 56;
  double maxTiltRad = 1.13;        ///< Largest angle of the needle from straight down (65°).
  double minVisibleLengthPx = 90;  ///< Shorter bars are not accepted as a needle.
  double minContrast = 8;          ///< Grey levels between shank and surroundings.
  /// A needle is known to be here (it is being tracked): what hangs on it or lies behind it raises no doubt.
  bool known = false;
};

struct NeedleTrackOptions {
  double maxShiftPx = 260;      ///< How far the tip may have moved, along or across.
  double maxTurnRad = 0.07;     ///< How far the direction may have turned (4°).
  bool allowFullSearch = true;  ///< Falls back to findNeedle with `search` when the prior leads nowhere.
  NeedleSearchOptions search = {};
};

/// Finds the needle in a whole frame (twin-imaging.md 4): reduction by 8, gradient voting for a dark bar,
/// perpendicular profiles, RANSAC and total least squares for the axis, then width, blur and an
/// error-function model for the tip. The tip is the foremost point of the bar on its axis; barb, ring and
/// thread beside the axis do not count. Not found (with reason): empty image, no bar, bar not entering from
/// the image border, too blurred, ambiguous (two bars as good), low contrast. Uses only thread-local memory,
/// which it keeps; safe from any thread.
NeedleEstimate findNeedle(const ImageView& image, const NeedleSearchOptions& options = {});

/// Finds the needle near `prior` (needs prior.found). Looks first close by, then wider up to the limits of
/// the options, then in the whole frame when allowed. Same model, reasons and thread rules as findNeedle.
NeedleEstimate trackNeedle(const ImageView& image, const NeedleEstimate& prior,
                           const NeedleTrackOptions& options = {});

}  // namespace surgiclaw::geometry
