// Parts of the shaped rewards that all tasks share.
#pragma once

#include <algorithm>
#include <cmath>

#include "surgiclaw/surgworld/arm.h"
#include "surgiclaw/surgworld/grasp_assist.h"

namespace surgiclaw::surgworld {

/// From 0 to 0.5 while nothing is held: come near, with open jaws for the last bit, then close them. Far away
/// the slope is even and the jaws do not matter, so that a learner keeps trying both ways; close by it is
/// steeper.
inline double guidanceToGrasp(double distance, double openShare) {
  const double open = std::clamp(openShare, 0.0, 1.0);
  const double near = 0.2 * (1 - std::min(1.0, distance / 0.35)) + 0.1 * (1 - std::tanh(15 * distance));
  if (distance < GraspAssist::kRadius) return near + 0.04 + 0.16 * (1 - open);
  return near + (distance < 0.05 ? 0.02 * open : 0);
}

}  // namespace surgiclaw::surgworld
