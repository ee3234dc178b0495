#include "surgiclaw/grabber/frame_time.h"

#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::grabber {

ClockPair readClockPair() noexcept {
  constexpr uint64_t kApart = 50'000;
  ClockPair pair;
  for (int tries = 0; tries < 4; ++tries) {
    pair.monotonicNs = realtime::monotonicNs();
    pair.realtimeNs = realtime::realtimeNs();
    if (realtime::monotonicNs() - pair.monotonicNs < kApart) break;
  }
  return pair;
}

uint64_t exposureBeganNs(uint64_t deviceTimestampNs, uint64_t arrivalMonotonicNs, const ClockPair& clocks,
                         uint64_t latestBeginNs) noexcept {
  constexpr uint64_t kOldest = 2 * realtime::kNsPerSecond;
  // Unsigned arithmetic wraps: a stamp of another clock lands far away and fails the test.
  const uint64_t mapped = deviceTimestampNs - clocks.realtimeNs + clocks.monotonicNs;
  if (arrivalMonotonicNs - mapped <= kOldest) return mapped;
  return arrivalMonotonicNs > latestBeginNs ? arrivalMonotonicNs - latestBeginNs : 0;
}

uint64_t skippedFrames(uint64_t previousId, uint64_t id) noexcept {
  constexpr uint64_t kIds = 65535;
  if (previousId > kIds || id > kIds) return id > previousId ? id - previousId - 1 : 0;
  const uint64_t steps = (id + kIds - previousId) % kIds;
  // More than half a turn ahead is a late frame, not a loss of tens of thousands.
  return steps == 0 || steps > kIds / 2 ? 0 : steps - 1;
}

}  // namespace surgiclaw::grabber
