#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/frame_source.h"

namespace surgiclaw::grabber {

/// Preallocated frame memory between one producer and any number of leaseholders.
///
/// A slot is free, being filled by the producer, or ready; a ready one may be leased, several times over. The
/// producer always finds `reserve` slots, because no more than size − reserve may be leased and, in newest
/// mode, old frames make room. Lives on while leases do.
class FrameRing : public std::enable_shared_from_this<FrameRing> {
 public:
  /// Least that a producer needs: one being filled, one on its way, one for the next.
  static constexpr int kReserve = 3;

  static std::shared_ptr<FrameRing> make(std::string name, int slots, size_t slotBytes, RingMode mode,
                                         int reserve = kReserve);
  FrameRing(const FrameRing&) = delete;
  FrameRing& operator=(const FrameRing&) = delete;
  ~FrameRing();

  /// Gets the memory, touches and, where permitted, locks it: takes tens of milliseconds. Before it there is
  /// no slot to take. Idempotent; not from two threads at once. @throws std::system_error
  void allocate();
  int slots() const { return static_cast<int>(slots_.size()); }
  size_t slotBytes() const { return slotBytes_; }
  uint8_t* data(int slot) { return memory_ + static_cast<size_t>(slot) * stride_; }

  /// Producer: a free slot to fill, or −1.
  int take();
  /// Producer: a taken slot comes back without a frame.
  void giveBack(int slot);
  /// Producer: a taken slot now holds a frame. `info.pixels` is set here; `skipped` frames were lost since
  /// the last one and count in the sequence.
  void publish(int slot, FrameInfo info, uint64_t skipped);
  /// Producer: whatever it had taken comes back; it fills nothing any more.
  void reclaim();
  /// Producer: frames are to come (true), or none will any more (false: waiting calls return). Frames of the
  /// former stream are forgotten; leases stay.
  void setFlowing(bool flowing);

  FrameLease latest(uint64_t afterSequence);
  FrameLease waitNewer(uint64_t afterSequence, std::chrono::nanoseconds timeout);
  FrameLease waitExposedAfter(uint64_t monotonicNs, std::chrono::nanoseconds timeout);
  uint64_t silenceNs() const;
  /// received, repeated, dropped and leasesHeld; the others are the producer's.
  Counters counters() const;
  void onChange(std::function<void()> listener);

 private:
  enum class State : uint8_t { free, filling, ready };
  struct Slot {
    FrameInfo info{};
    State state = State::free;
    bool seen = false;       ///< leased at least once
    bool forgotten = false;  ///< of a former stream: free as soon as the last lease ends
    int leases = 0;
  };

  FrameRing(std::string name, int slots, size_t slotBytes, RingMode mode, int reserve);
  template <typename Find>
  FrameLease waitFor(const Find& find, std::chrono::nanoseconds timeout);
  int findAfterSequence(uint64_t afterSequence);
  int findExposedAfter(uint64_t monotonicNs);
  FrameLease lease(int slot);
  void endLease(int slot);
  void makeRoom();
  void freeSlot(int slot);
  int roomForProducer() const;

  const std::string name_;
  const size_t slotBytes_;
  const size_t stride_;
  const RingMode mode_;
  const int reserve_;
  uint8_t* memory_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<int> free_;
  std::vector<int> ready_;  ///< oldest first
  int filling_ = 0;
  int leasedSlots_ = 0;
  uint64_t sequence_ = 0;
  bool flowing_ = false;
  bool overflowed_ = false;
  Counters counters_{};
  std::atomic<uint64_t> lastFrameNs_{0};
  std::function<void()> listener_;
};
static_assert(!std::is_copy_constructible_v<FrameRing> && !std::is_move_constructible_v<FrameRing>);

}  // namespace surgiclaw::grabber
