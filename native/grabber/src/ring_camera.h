#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/frame_ring.h"

namespace surgiclaw::grabber {

/// What every camera has: its options, a ring that it fills, counters, and whether it was lost. A source of
/// its own kind adds how frames come.
class RingCamera : public Camera {
 public:
  void onChange(std::function<void()> listener) override { ring_->onChange(std::move(listener)); }

  const std::string& name() const override { return options_.name; }
  FrameLease latest(uint64_t afterSequence) override { return ring_->latest(afterSequence); }
  FrameLease waitNewer(uint64_t afterSequence, std::chrono::nanoseconds timeout) override {
    return ring_->waitNewer(afterSequence, timeout);
  }
  FrameLease waitExposedAfter(uint64_t monotonicNs, std::chrono::nanoseconds timeout) override {
    return ring_->waitExposedAfter(monotonicNs, timeout);
  }
  uint64_t silenceNs() const override { return ring_->silenceNs(); }
  bool lost() const override { return lost_.load(std::memory_order_acquire); }
  Counters counters() const override {
    Counters counters = ring_->counters();
    counters.incomplete = incomplete_.load(std::memory_order_relaxed);
    counters.gaps = gaps_.load(std::memory_order_relaxed);
    counters.underruns = underruns_.load(std::memory_order_relaxed);
    return counters;
  }

 protected:
  /// @param reserve slots of the ring that are always the producer's
  explicit RingCamera(const CameraOptions& options, int reserve = FrameRing::kReserve)
      : options_(options),
        ring_(FrameRing::make(options.name, options.ringSize,
                              static_cast<size_t>(options.width) * static_cast<size_t>(options.height),
                              options.mode, reserve)) {}

  const CameraOptions options_;
  const std::shared_ptr<FrameRing> ring_;
  std::atomic<bool> lost_{false};
  // Kept by the thread that fills the ring.
  std::atomic<uint64_t> incomplete_{0};
  std::atomic<uint64_t> gaps_{0};
  std::atomic<uint64_t> underruns_{0};
};
static_assert(!std::is_copy_constructible_v<RingCamera> && !std::is_move_constructible_v<RingCamera>);

}  // namespace surgiclaw::grabber
