#include "surgiclaw/servo/watch.h"

namespace surgiclaw::servo {

const char* statusName(ServoStatus status) {
  switch (status) {
    case ServoStatus::kConverged:
      return "converged";
    case ServoStatus::kNotConverged:
      return "not_converged";
    case ServoStatus::kNeedleLost:
      return "needle_lost";
    case ServoStatus::kStopped:
      return "stopped";
    case ServoStatus::kLink:
      return "link";
    case ServoStatus::kEnvelope:
      return "envelope";
    case ServoStatus::kTimeout:
      return "timeout";
    case ServoStatus::kFrames:
      return "frames";
  }
  return "stopped";
}

std::optional<Ending> Watch::ended() const {
  if (stop_.load()) return Ending{ServoStatus::kStopped, "stop was requested"};
  if (vitals_) {
    if (const char* reason = vitals_()) return Ending{ServoStatus::kStopped, reason};
  }
  if (std::chrono::steady_clock::now() >= deadline_)
    return Ending{ServoStatus::kTimeout, "the time of this run is over"};
  return std::nullopt;
}

}  // namespace surgiclaw::servo
