// Parts of the shaped rewards that all tasks share.
#pragma once

#include <algorithm>
#include <cmath>

#include "surgiclaw/surgworld/arm.h"
#include "surgiclaw/surgworld/grasp_assist.h"

namespace surgiclaw::surgworld {

/// From 0 to 0.5 while nothing is held: come near with open jaws, then close them. Far away the slope is
/// even; close by it is steeper, since the last millimetres decide.
inline double guidanceToGrasp(double distance, double openShare) {
  const double open = std::clamp(openShare, 0.0, 1.0);
  const double near = 0.2 * (1 - std::min(1.0, distance / 0.35)) + 0.15 * (1 - std::tanh(15 * distance));
  if (distance < GraspAssist::kRadius) return near + 0.05 + 0.1 * (1 - open);
  return near + 0.05 * open;
}

}  // namespace surgiclaw::surgworld
