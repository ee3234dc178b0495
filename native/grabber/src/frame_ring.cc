#include "surgiclaw/grabber/frame_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"
#include "surgiclaw/realtime/fixed_rate_thread.h"

namespace surgiclaw::grabber {

namespace {

constexpr size_t kPage = 4096;

size_t roundUp(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

std::shared_ptr<FrameRing> FrameRing::make(std::string name, int slots, size_t slotBytes, RingMode mode,
                                           int reserve) {
  return std::shared_ptr<FrameRing>(new FrameRing(std::move(name), slots, slotBytes, mode, reserve));
}

FrameRing::FrameRing(std::string name, int slots, size_t slotBytes, RingMode mode, int reserve)
    : name_(std::move(name)),
      slotBytes_(slotBytes),
      stride_(roundUp(slotBytes)),
      mode_(mode),
      reserve_(reserve) {
  if (slots < kMinRing || slotBytes == 0 || reserve < kReserve || reserve >= slots) {
    throw GrabberError(GrabberFault::usage, name_ + ": a ring needs at least " + std::to_string(kMinRing) +
                                                " slots, and slots a size");
  }
  slots_.resize(static_cast<size_t>(slots));
  free_.reserve(slots_.size());
  ready_.reserve(slots_.size());
}

void FrameRing::allocate() {
  if (memory_ != nullptr) return;
  const size_t bytes = stride_ * slots_.size();
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), name_ + ": no memory for the ring");
  }
  // Pages are there, and stay where permitted, before the first frame comes: a fresh 4 MiB frame costs 17 ms
  // of page faults otherwise.
  realtime::lockMemory(memory, bytes);
  std::memset(memory, 0, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  memory_ = static_cast<uint8_t*>(memory);
  for (int i = slots() - 1; i >= 0; --i) free_.push_back(i);
}

FrameRing::~FrameRing() {
  if (memory_ != nullptr) munmap(memory_, stride_ * slots_.size());
}

int FrameRing::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return -1;
  const int slot = free_.back();
  free_.pop_back();
  slots_[slot].state = State::filling;
  ++filling_;
  return slot;
}

void FrameRing::giveBack(int slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (slots_[slot].state != State::filling) return;
  --filling_;
  freeSlot(slot);
}

void FrameRing::reclaim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int slot = 0; slot < slots(); ++slot) {
    if (slots_[slot].state == State::filling) freeSlot(slot);
  }
  filling_ = 0;
}

void FrameRing::freeSlot(int slot) {
  slots_[slot].state = State::free;
  slots_[slot].info = FrameInfo{};
  free_.push_back(slot);
}

int FrameRing::roomForProducer() const { return static_cast<int>(free_.size()) + filling_; }

void FrameRing::publish(int slot, FrameInfo info, uint64_t skipped) {
  std::function<void()> listener;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --filling_;
    sequence_ += 1 + skipped;
    info.sequence = sequence_;
    info.pixels = data(slot);
    if (info.repeated) {
      ++counters_.repeated;
    } else {
      lastFrameNs_.store(realtime::monotonicNs(), std::memory_order_release);
    }
    ++counters_.received;
    Slot& filled = slots_[slot];
    filled.info = info;
    filled.state = State::ready;
    filled.seen = false;
    filled.forgotten = false;
    ready_.push_back(slot);
    makeRoom();
    listener = listener_;
  }
  changed_.notify_all();
  if (listener) listener();
}

void FrameRing::makeRoom() {
  if (mode_ == RingMode::bounded) {
    if (roomForProducer() >= reserve_) return;
    // Nothing that was promised is thrown away silently: the new frame goes, and the source says so.
    overflowed_ = true;
    ++counters_.dropped;
    freeSlot(ready_.back());
    ready_.pop_back();
    return;
  }
  for (size_t i = 0; i + 1 < ready_.size() && roomForProducer() < reserve_;) {
    const int slot = ready_[i];
    if (slots_[slot].leases > 0) {
      ++i;
      continue;
    }
    if (!slots_[slot].seen) ++counters_.dropped;
    ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(i));
    freeSlot(slot);
  }
}

void FrameRing::setFlowing(bool flowing) {
  std::function<void()> listener;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    flowing_ = flowing;
    if (flowing) {
      overflowed_ = false;
      for (const int slot : ready_) {
        if (slots_[slot].leases > 0) {
          slots_[slot].forgotten = true;
        } else {
          freeSlot(slot);
        }
      }
      ready_.clear();
    }
    listener = listener_;
  }
  changed_.notify_all();
  if (listener) listener();
}

FrameLease FrameRing::latest(uint64_t afterSequence) {
  return waitNewer(afterSequence, std::chrono::nanoseconds::zero());
}

FrameLease FrameRing::waitNewer(uint64_t afterSequence, std::chrono::nanoseconds timeout) {
  return waitFor([this, afterSequence] { return findAfterSequence(afterSequence); }, timeout);
}

FrameLease FrameRing::waitExposedAfter(uint64_t monotonicNs, std::chrono::nanoseconds timeout) {
  return waitFor([this, monotonicNs] { return findExposedAfter(monotonicNs); }, timeout);
}

template <typename Find>
FrameLease FrameRing::waitFor(const Find& find, std::chrono::nanoseconds timeout) {
  // Long waits are cut: the sum with now() must not overflow.
  constexpr auto kLongest = std::chrono::hours(24);
  const auto deadline =
      std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(timeout, kLongest);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (overflowed_) {
      throw GrabberError(GrabberFault::overflow,
                         name_ + ": frames came faster than they were taken, and the ring of " +
                             std::to_string(slots()) + " is full");
    }
    if (!flowing_) return {};
    if (const int slot = find(); slot >= 0) return lease(slot);
    if (timeout <= std::chrono::nanoseconds::zero()) return {};
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout)
      timeout = std::chrono::nanoseconds::zero();
  }
}

int FrameRing::findAfterSequence(uint64_t afterSequence) {
  if (mode_ == RingMode::newest) {
    if (ready_.empty() || slots_[ready_.back()].info.sequence <= afterSequence) return -1;
    return ready_.back();
  }
  while (!ready_.empty() && slots_[ready_.front()].info.sequence <= afterSequence) {
    const int slot = ready_.front();
    ready_.erase(ready_.begin());
    if (slots_[slot].leases > 0) {
      slots_[slot].forgotten = true;
    } else {
      freeSlot(slot);
    }
  }
  return ready_.empty() ? -1 : ready_.front();
}

int FrameRing::findExposedAfter(uint64_t monotonicNs) {
  for (const int slot : ready_) {
    if (slots_[slot].info.hostMonotonicNs > monotonicNs) return slot;
  }
  return -1;
}

FrameLease FrameRing::lease(int slot) {
  Slot& leased = slots_[slot];
  if (leased.leases == 0 && leasedSlots_ >= slots() - reserve_) {
    throw GrabberError(GrabberFault::leasesExhausted,
                       name_ + ": " + std::to_string(leasedSlots_) + " of " + std::to_string(slots()) +
                           " frames are leased already; release frames sooner");
  }
  if (leased.leases++ == 0) ++leasedSlots_;
  ++counters_.leasesHeld;
  leased.seen = true;
  return FrameLease(leased.info, slot, [ring = shared_from_this(), slot] { ring->endLease(slot); });
}

void FrameRing::endLease(int slot) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --counters_.leasesHeld;
  Slot& leased = slots_[slot];
  if (--leased.leases > 0) return;
  --leasedSlots_;
  if (leased.forgotten) {
    leased.forgotten = false;
    freeSlot(slot);
  } else if (mode_ == RingMode::newest) {
    makeRoom();
  }
}

uint64_t FrameRing::silenceNs() const {
  const uint64_t last = lastFrameNs_.load(std::memory_order_acquire);
  if (last == 0) return std::numeric_limits<uint64_t>::max();
  const uint64_t now = realtime::monotonicNs();
  return now > last ? now - last : 0;
}

Counters FrameRing::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

void FrameRing::onChange(std::function<void()> listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  listener_ = std::move(listener);
}

}  // namespace surgiclaw::grabber
