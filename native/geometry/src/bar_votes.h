// Votes of gradients for straight dark bars: where they may be, before anything is followed.
#pragma once

#include <vector>

#include "bar_search.h"

namespace surgiclaw::geometry {

/// A pair of parallel edges, left darkening and right brightening. Reduced pixels.
struct BarPeak {
  double angleRad = 0;  ///< Of the downward direction, from straight down, positive to the right.
  double x = 0;         ///< A point of the axis.
  double y = 0;
  double width = 0;
};

/// Strong gradients vote in (angle, radius) for directed edges; pairs at a bar's width are peaks, the
/// strongest first (twin-imaging.md 4).
void voteForBars(const Reduced& image, const BarSearchOptions& options, std::vector<BarPeak>& peaks);

}  // namespace surgiclaw::geometry
