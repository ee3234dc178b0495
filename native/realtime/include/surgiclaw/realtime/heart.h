#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "surgiclaw/realtime/beat.h"
#include "surgiclaw/realtime/fixed_rate_thread.h"

namespace surgiclaw::realtime {

struct HeartOptions {
  int fd = -1;  ///< pipe or socket to the guardian; duplicated, so the caller may close its own
  std::chrono::nanoseconds period{5'000'000};
  /// Silent when touch() is older than this: a blocked event loop looks like a dead one to the guardian.
  std::chrono::nanoseconds limit{50'000'000};
  int priority = 60;
};

struct HeartStatus {
  uint64_t beats = 0;  ///< written whole
  uint64_t lateBeats =
      0;  ///< ticks that came more than a period late, or that the guardian's full pipe refused
  bool guardianAlive = false;  ///< its end is open, and it reads
  uint64_t eventLoopAgeNs = 0;
  bool realtime = false;
  FixedRateStats pace;  ///< how punctual its thread is
};

/// The daemon's heartbeat to the guardian, from a native thread: it goes on through garbage collection and
/// stops when the event loop hangs, when the process dies, or when stop() is called. Without beats the
/// guardian stops the cell.
class Heart {
 public:
  explicit Heart(const HeartOptions& options);
  /// Stops beating and closes the descriptor: the guardian sees the end of the stream.
  ~Heart();
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

  /// The event loop is alive. Any thread; RT-safe.
  void touch() noexcept;
  /// What the guardian does when it takes over: retract the needle to an absolute position, or leave it.
  /// RT-safe.
  void setNeedle(bool inTissue, int32_t retractToMicrosteps) noexcept;
  HeartStatus status() const noexcept;
  void stop();

  /// CLOCK_MONOTONIC of the newest beat that any heart of this process has written whole, 0 before the first.
  /// Grows old when the event loop hangs, the guardian is gone or no heart beats: for loops that must then
  /// stop by themselves. RT-safe.
  static uint64_t newestBeatNs() noexcept;

 private:
  bool tick(uint64_t dueNs) noexcept;
  /// Sends the rest of the current beat. RT-safe: never waits for the reader.
  void flush() noexcept;
  bool awaitingRoom() const noexcept { return pendingOffset_ < sizeof(Beat); }

  const HeartOptions options_;
  int fd_ = -1;
  bool isSocket_ = false;
  // Touched by the thread alone.
  std::array<unsigned char, sizeof(Beat)> pending_{};
  size_t pendingOffset_ = sizeof(Beat);
  uint32_t sequence_ = 0;
  // Position in the low half, flag in bit 32: both change at once.
  std::atomic<uint64_t> needle_{0};
  std::atomic<uint64_t> touchedNs_{0};
  std::atomic<uint64_t> beats_{0};
  std::atomic<uint64_t> lateBeats_{0};
  std::atomic<uint64_t> refusedInARow_{0};
  std::atomic<bool> readerGone_{false};
  // Last member: its thread uses all the others and is joined first.
  FixedRateThread thread_;
};
static_assert(!std::is_copy_constructible_v<Heart> && !std::is_move_constructible_v<Heart>);

}  // namespace surgiclaw::realtime
