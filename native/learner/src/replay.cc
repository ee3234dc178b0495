#include "surgiclaw/learner/replay.h"

#include <algorithm>

namespace surgiclaw::learner {

Transitions::Transitions(int observationSize, int actionSize, int capacity)
    : observationSize_(observationSize),
      actionSize_(actionSize),
      capacity_(capacity),
      rowFloats_(2 * observationSize + actionSize + 3),
      rows_(static_cast<std::size_t>(capacity) * static_cast<std::size_t>(rowFloats_)) {}

TransitionView Transitions::at(int index) const {
  const float* at = row(index);
  const float* action = at + observationSize_;
  const float* next = action + actionSize_;
  const float* rest = next + observationSize_;
  return {at, action, next, rest[0], rest[1], rest[2]};
}

void ReplayRing::advance() {
  next_ = (next_ + 1) % rows_.capacity();
  size_ = std::min(size_ + 1, rows_.capacity());
}

}  // namespace surgiclaw::learner
