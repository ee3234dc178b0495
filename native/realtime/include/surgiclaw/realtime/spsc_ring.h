#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <type_traits>

namespace surgiclaw::realtime {

/// Lock-free queue between exactly one producer thread and one consumer thread. Holds `Capacity` items (a
/// power of two). Nothing is overwritten: a full ring refuses, and the producer decides what that means.
/// RT-safe at both ends.
template <typename T, size_t Capacity>
class SpscRing {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "the capacity is a power of two");
  static_assert(std::is_trivially_copyable_v<T>, "items are copied without running code");

 public:
  SpscRing() = default;
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  /// Producer. False when the ring is full.
  [[nodiscard]] bool tryPush(const T& item) noexcept {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (head - tailSeen_ == Capacity) {
      tailSeen_ = tail_.load(std::memory_order_acquire);
      if (head - tailSeen_ == Capacity) return false;
    }
    items_[head & (Capacity - 1)] = item;
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// Consumer. False when the ring is empty.
  [[nodiscard]] bool tryPop(T& item) noexcept {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == headSeen_) {
      headSeen_ = head_.load(std::memory_order_acquire);
      if (tail == headSeen_) return false;
    }
    item = items_[tail & (Capacity - 1)];
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  /// Either thread; exact only for the caller's own end.
  size_t size() const noexcept {
    const size_t tail = tail_.load(std::memory_order_acquire);
    return head_.load(std::memory_order_acquire) - tail;
  }

 private:
  // Each end on its own cache line, with its own last look at the other end: the common case touches no
  // foreign line.
  alignas(64) std::atomic<size_t> head_{0};
  size_t tailSeen_ = 0;
  alignas(64) std::atomic<size_t> tail_{0};
  size_t headSeen_ = 0;
  alignas(64) std::array<T, Capacity> items_{};
};

}  // namespace surgiclaw::realtime
