#pragma once

#include <cstdint>

namespace surgiclaw::grabber {

/// Both clocks of the host, read at one moment.
struct ClockPair {
  uint64_t realtimeNs = 0;
  uint64_t monotonicNs = 0;
};

/// Reads both clocks; the monotonic one is read first, by less than 50 µs unless the thread kept being
/// pre-empted.
ClockPair readClockPair() noexcept;

/// When, on CLOCK_MONOTONIC, a frame's exposure began, never later than it truly did.
///
/// A device whose clock is wall time (PTP, NTP, the twin) stamps the beginning of exposure; the stamp is
/// moved over by the difference of the host's clocks at arrival. A stamp that would lie in the future or more
/// than 2 s before the arrival is of another clock, or wall time was set meanwhile: then only the arrival is
/// known, and exposure, read-out and transfer (`latestBeginNs` in all) must have begun before it.
uint64_t exposureBeganNs(uint64_t deviceTimestampNs, uint64_t arrivalMonotonicNs, const ClockPair& clocks,
                         uint64_t latestBeginNs) noexcept;

/// How many frames were skipped between two frame numbers of GigE Vision: 16 bits, 1…65535, zero is never
/// used. Numbers beyond 16 bits are of the extended kind and do not wrap. A repeated number skips none.
uint64_t skippedFrames(uint64_t previousId, uint64_t id) noexcept;

}  // namespace surgiclaw::grabber
