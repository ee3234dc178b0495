// Where the loop's measurements come from: one view of the needle.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "surgiclaw/geometry/needle.h"
#include "surgiclaw/grabber/frame_source.h"

namespace surgiclaw::servo {

struct Look {
  enum class Result {
    kSeen,
    kNotFound,  ///< a frame came, but no needle was found in it
    kNoFrame,   ///< no new frame within the time given
    kLost,      ///< the camera is gone
  };
  Result result = Result::kNoFrame;
  geometry::NeedleEstimate needle;
  uint64_t frameNs = 0;  ///< CLOCK_MONOTONIC before which no light of the frame was collected
};

/// One view. The loop asks for frames exposed wholly after a moment at which the stage stood.
class Eye {
 public:
  virtual ~Eye() = default;
  virtual Look look(uint64_t exposedAfterNs, std::chrono::nanoseconds timeout,
                    const geometry::NeedleEstimate& prior) = 0;
};

/// A microscope: the newest frame of a source, tracked from the prior, searched anew when the prior leads
/// nowhere.
std::unique_ptr<Eye> needleEye(std::shared_ptr<grabber::FrameSource> source,
                               const geometry::NeedleTrackOptions& options = {});

}  // namespace surgiclaw::servo
