#include "surgiclaw/realtime/clock.h"

#include <cerrno>

namespace surgiclaw::realtime {

void sleepUntil(uint64_t deadlineNs) noexcept {
  timespec deadline{};
  deadline.tv_sec = static_cast<time_t>(deadlineNs / kNsPerSecond);
  deadline.tv_nsec = static_cast<long>(deadlineNs % kNsPerSecond);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
}

}  // namespace surgiclaw::realtime
