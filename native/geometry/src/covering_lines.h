// Dark lines that lie over a textured surface (the thread of an electrode, the edge of the needle) and hide
// it.
#pragma once

#include "correlation.h"

namespace surgiclaw::geometry {

/// 1 where a dark line covers the surface, 0 elsewhere; empty when nothing does. A line is a connected part,
/// far darker than its surroundings by the measure of the texture, that is longer than a grain.
FloatImage findCoveringLines(const FloatImage& image);

/// The image with its covered pixels replaced by the mean of what is seen around them.
FloatImage fillCovered(const FloatImage& image, const FloatImage& covered);

}  // namespace surgiclaw::geometry
