// Third stage of the needle search: where along its axis the needle ends.
#pragma once

#include "needle_axis.h"

namespace surgiclaw::geometry {

struct NeedleTip {
  bool ok = false;
  const char* reason = "";
  double s = 0;         ///< Tip on the axis, px above the frame's origin (negative: below).
  double sigma = 0;     ///< Standard deviation of s, px.
  double depth = 0;     ///< Fitted step, grey levels.
  double surround = 0;  ///< Grey level beyond the tip.
  double residual = 0;  ///< RMS of the fit, grey levels.
  double flank = 0;     ///< Just above the tip: how much darker the core is than its darker side, as a share.
};

/// Fits the profile along the axis, read in a band narrower than the core so that neither barb nor ring
/// count, with the blurred silhouette of a tapered, rounded end whose width and blur are known from the shank
/// (twin-imaging.md 4: fit width and blur first). Searches `range` px to either side of s = `around`.
NeedleTip fitNeedleTip(const ImageView& image, const NeedleAxis& axis, double around, double range);

}  // namespace surgiclaw::geometry
