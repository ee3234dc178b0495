// Waiting on descriptors, never beyond a deadline.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace surgiclaw::servo {

using DeadlineClock = std::chrono::steady_clock;

/// Milliseconds until `deadline`, rounded up so that poll() never spins through the last one; 0 when it has
/// passed.
inline int remainingMs(DeadlineClock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - DeadlineClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60000));
}

/// Waits for `events` on `fd`; false at the deadline.
inline bool waitFor(int fd, short events, DeadlineClock::time_point deadline) {
  for (;;) {
    pollfd waiting{fd, events, 0};
    const int ready = ::poll(&waiting, 1, remainingMs(deadline));
    if (ready > 0) return true;
    if (ready == 0 && DeadlineClock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return true;  // the read or write that follows names the error
  }
}

}  // namespace surgiclaw::servo
