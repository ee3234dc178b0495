#pragma once

#include <cstdint>
#include <ctime>

namespace surgiclaw::realtime {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

inline uint64_t readClockNs(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

/// CLOCK_MONOTONIC, ns: the clock of control and freshness, shared by all processes of the machine. RT-safe.
inline uint64_t monotonicNs() noexcept { return readClockNs(CLOCK_MONOTONIC); }

/// CLOCK_REALTIME, ns since 1970: only to read time stamps that devices made from wall time. RT-safe.
inline uint64_t realtimeNs() noexcept { return readClockNs(CLOCK_REALTIME); }

/// Sleeps until CLOCK_MONOTONIC reaches `deadlineNs`; signals do not shorten it. RT-safe.
void sleepUntil(uint64_t deadlineNs) noexcept;

}  // namespace surgiclaw::realtime
