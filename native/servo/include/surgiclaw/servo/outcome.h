// How a servo run, or a part of it, ended.
#pragma once

#include <string>

namespace surgiclaw::servo {

enum class ServoStatus {
  kConverged,
  kNotConverged,  ///< no more progress, divergence, or too many steps
  kNeedleLost,
  kStopped,  ///< stop(), a silent event loop, a dead guardian or the emergency input
  kLink,     ///< the controller refuses, does not answer or is gone
  kEnvelope,
  kTimeout,
  kFrames,  ///< a camera delivers no frames
};

/// The name the TypeScript side knows: "converged", "not_converged", …
const char* statusName(ServoStatus status);

struct Ending {
  ServoStatus status = ServoStatus::kStopped;
  std::string detail;
};

}  // namespace surgiclaw::servo
