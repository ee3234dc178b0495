// First stage of the needle search: straight dark bars in a reduced frame.
#pragma once

#include <vector>

#include "reduce.h"

namespace surgiclaw::geometry {

struct BarSearchOptions {
  double centreAngleRad = 0;  ///< Of the direction from straight down, positive to the right.
  double angleRangeRad = 1.2;
  double minWidthPx = 16;
  double maxWidthPx = 80;  ///< Distance of the steepest points: a blurred bar seems wider than it is.
  double minContrast = 8;
  double minLengthPx = 90;
  int maxCandidates = 6;
};

/// A straight dark bar; frame pixels.
struct Bar {
  double tipX = 0;  ///< Rough lower end on the axis.
  double tipY = 0;
  double directionX = 0;  ///< Unit, downwards along the bar.
  double directionY = 1;
  double widthPx = 0;
  double lengthPx = 0;      ///< From the upper to the lower end.
  double laterEndPx = 0;    ///< Where it may end instead: so far beyond the lower end; 0: nowhere.
  double contrast = 0;      ///< Grey levels, median along the bar.
  double weight = 0;        ///< Contrast summed along the bar, grey levels · px.
  bool fromBorder = false;  ///< The upper end lies on the border of the searched image.
  bool tipInside = false;   ///< The lower end lies inside it.
};

/// Candidates, heaviest first. `quarter` is the frame (or a region of it) reduced by 4, `eighth` its half.
void findBars(const Reduced& quarter, const Reduced& eighth, const BarSearchOptions& options,
              std::vector<Bar>& bars);

}  // namespace surgiclaw::geometry
