// Second stage of the needle search: profiles along the bar give axis, width, taper and blur near the tip.
#pragma once

#include <vector>

#include "bar_profile.h"
#include "sampling.h"

namespace surgiclaw::geometry {

struct NeedleAxis {
  bool ok = false;
  const char* reason = "";
  AxisFrame frame;         ///< Refined; origin at the rough tip.
  double acrossSigma = 0;  ///< Of the axis at the origin, px.
  double angleSigma = 0;   ///< rad
  double shankWidth = 0;   ///< px, above the taper.
  double tipWidth = 0;     ///< px, where the taper meets the rounded end.
  double taper = 0;        ///< Growth of the width per px above the tip, until shankWidth.
  double sigma = 1;        ///< Blur at the tip, px.
  double sigmaSigma = 0;   ///< Its standard deviation.
  double sigmaSlope = 0;   ///< Growth of the blur per px above the tip.
  double sharpest = 0;     ///< Where the blur is least, px above the origin; NaN unless seen to be a minimum.
  double depth = 0;        ///< Grey levels between flanks and core near the tip.
  double surround = 0;     ///< Grey level of the flanks near the tip.
  double wander = 0;       ///< RMS of the middles about the axis, as a multiple of what blur and noise do.
  double support = 0;      ///< Share of the profiles that lie on the axis.
  double slope = 0;        ///< Of the last turn: t per px of s.
  /// The profiles behind all this, lowest first; their t refers to the axis before its last turn.
  std::vector<BarProfile> profiles;
};

/// `rough` starts the search: its origin within about 40 px of the tip along the axis and 6 px across, its
/// direction within 1°. `length` is how far the bar is known to reach above the origin. Width, taper and blur
/// are measured for a tip at the origin.
NeedleAxis fitNeedleAxis(const ImageView& image, const AxisFrame& rough, double width, double length,
                         double minContrast);

/// Measures width, taper and blur again for a tip `tip` px above the origin. The lowest stretch is left out:
/// there the rounded end, the barb and whatever hangs on it are in the profiles. False when nothing is left.
bool measureNearTip(NeedleAxis& axis, double tip);

}  // namespace surgiclaw::geometry
