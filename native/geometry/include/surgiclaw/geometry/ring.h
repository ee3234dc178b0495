// The electrode's loop in one frame: a thin dark ring at the end of its ribbon.
#pragma once

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// How the loop appears in a view. Image vectors in px; half axes are those of the opening (inner edge of the
/// wire).
struct RingModel {
  double halfAxisA[2] = {0, 0};
  double halfAxisB[2] = {0, 0};
  double wirePx = 0;
  double ribbonDirection[2] = {0, 0};  ///< From the ring along the ribbon, any length.
  double ribbonWidthPx = 0;
};

struct RingEstimate {
  bool found = false;
  const char* reason = "";  ///< Why not, when not found; a static string.
  double x = 0;             ///< Centre of the opening, px.
  double y = 0;
  double sigmaPx = 0;      ///< Standard deviation of the centre, per axis.
  double edgeSigmaPx = 0;  ///< Blur: sigma of the Gaussian that makes the model fit best.
  double confidence = 0;   ///< 0…1.
};

/// Searches the ring's centre within `radius` px of (x, y): a model-based matched filter, coarse to fine,
/// over blur. Not found (with reason): no placement in the frame, model without area, nothing like it, no
/// opening seen (a bare ribbon end), or two places as good.
RingEstimate findRing(const ImageView& image, double x, double y, double radius, const RingModel& model);

}  // namespace surgiclaw::geometry
