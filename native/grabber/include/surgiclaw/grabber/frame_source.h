#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace surgiclaw::grabber {

/// One Mono8 frame. The pixels are row-major, `stride` bytes from row to row, and live in the source's ring.
struct FrameInfo {
  uint64_t sequence = 0;  ///< counts from 1 since the source was made, gaps included; never wraps or falls
  uint64_t deviceTimestampNs = 0;  ///< the device's own clock, as received
  uint64_t hostMonotonicNs = 0;    ///< CLOCK_MONOTONIC before which no light of this frame was collected
  uint64_t trigger = 0;            ///< number of the trigger() that this frame answers; 0: none
  bool repeated = false;           ///< the picture is that of the frame before: the camera froze
  int width = 0;
  int height = 0;
  int stride = 0;
  const uint8_t* pixels = nullptr;
};

/// Holds one slot of a ring for as long as it lives: the pixels are valid until it is released or destroyed.
/// Keep it short; a ring whose slots are all leased loses frames and counts underruns. May outlive its
/// source.
class FrameLease {
 public:
  /// Gives the slot back. Called once, from the thread that releases the lease.
  using Release = std::function<void()>;

  FrameLease() = default;
  FrameLease(const FrameInfo& info, int slot, Release release)
      : info_(info), slot_(slot), release_(std::move(release)) {}
  FrameLease(const FrameLease&) = delete;
  FrameLease& operator=(const FrameLease&) = delete;
  FrameLease(FrameLease&& other) noexcept
      : info_(std::exchange(other.info_, FrameInfo{})),
        slot_(std::exchange(other.slot_, -1)),
        release_(std::exchange(other.release_, nullptr)) {}
  FrameLease& operator=(FrameLease&& other) noexcept {
    if (this != &other) {
      release();
      info_ = std::exchange(other.info_, FrameInfo{});
      slot_ = std::exchange(other.slot_, -1);
      release_ = std::exchange(other.release_, nullptr);
    }
    return *this;
  }
  ~FrameLease() { release(); }

  bool valid() const { return info_.pixels != nullptr; }
  const FrameInfo& info() const { return info_; }
  /// Index of the leased slot in the ring; −1 when empty.
  int slot() const { return slot_; }
  void release() {
    info_ = FrameInfo{};
    slot_ = -1;
    if (const Release give = std::exchange(release_, nullptr)) give();
  }

 private:
  FrameInfo info_{};
  int slot_ = -1;
  Release release_;
};

/// Frames held, lost and delivered since the source was made.
struct Counters {
  uint64_t received = 0;    ///< complete frames taken into the ring
  uint64_t incomplete = 0;  ///< frames that came with missing packets or another error; never delivered
  uint64_t gaps = 0;        ///< frame numbers that were skipped on the wire
  uint64_t underruns = 0;   ///< times that no buffer was free: frames, or packets of GigE Vision
  uint64_t dropped = 0;     ///< complete frames overwritten in the ring before anyone asked
  uint64_t repeated = 0;    ///< frames that showed the picture of the one before again
  uint64_t leasesHeld = 0;
  uint64_t missingPackets = 0;      ///< GigE Vision: of incomplete frames, from the first missing one on
  uint64_t resentPackets = 0;       ///< GigE Vision: packets that came only after they were asked for again
  uint64_t unansweredTriggers = 0;  ///< triggers without a frame
};

/// Where frames come from: a camera or a folder of images. All calls may come from any thread. A call that
/// finds more leases held than the ring allows throws GrabberError (leasesExhausted), and so does a bounded
/// source that overflowed (overflow); the other failures are an empty lease.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual const std::string& name() const = 0;
  /// The newest complete frame, empty when its sequence is not above `afterSequence`. Never waits. (Of a
  /// bounded source: the first one above `afterSequence`; frames up to it are given up.)
  virtual FrameLease latest(uint64_t afterSequence) = 0;
  /// As latest(), but waits for one; empty after `timeout`, or when the source was lost or closed.
  virtual FrameLease waitNewer(uint64_t afterSequence, std::chrono::nanoseconds timeout) = 0;
  /// The first frame exposed wholly after `monotonicNs` (CLOCK_MONOTONIC); empty after `timeout`, or on loss.
  virtual FrameLease waitExposedAfter(uint64_t monotonicNs, std::chrono::nanoseconds timeout) = 0;
  /// Time since the last complete frame with a picture of its own came; UINT64_MAX before the first. A camera
  /// that freezes on one picture is as silent as one that sends nothing.
  virtual uint64_t silenceNs() const = 0;
  /// The device reported loss of control, or its stream died. Only closing and opening mends it.
  virtual bool lost() const = 0;
  virtual Counters counters() const = 0;
};

}  // namespace surgiclaw::grabber
