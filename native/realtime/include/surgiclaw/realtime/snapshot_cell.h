#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace surgiclaw::realtime {

/// The newest value of something, from one writer to any number of readers: a sequence lock. The writer never
/// waits; a reader never sees half of one value and half of another. RT-safe at both ends.
template <typename T>
class SnapshotCell {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied without running code");

 public:
  explicit SnapshotCell(const T& initial = T{}) noexcept { store(initial); }
  SnapshotCell(const SnapshotCell&) = delete;
  SnapshotCell& operator=(const SnapshotCell&) = delete;

  /// The one writer.
  void store(const T& value) noexcept {
    std::array<uint64_t, kWords> words{};
    std::memcpy(words.data(), &value, sizeof(T));
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    // Words are atomic so that a read that races is merely thrown away, not undefined.
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
    version_.store(version + 2, std::memory_order_release);
  }

  /// Any reader. Spins while a store is under way (a few nanoseconds, unless the writer was pre-empted in
  /// it).
  T load() const noexcept {
    T value;
    while (!tryLoad(value)) {
    }
    return value;
  }

  /// Any reader; false when a store was under way. For readers that outrank the writer and so must not spin.
  [[nodiscard]] bool tryLoad(T& value) const noexcept {
    const uint64_t before = version_.load(std::memory_order_acquire);
    if ((before & 1U) != 0) return false;
    std::array<uint64_t, kWords> words;
    for (size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) != before) return false;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof(T));
    return true;
  }

  /// Grows by one with each store (the initial value counts as the first).
  uint64_t version() const noexcept { return version_.load(std::memory_order_acquire) / 2; }

 private:
  static constexpr size_t kWords = (sizeof(T) + 7) / 8;
  std::atomic<uint64_t> version_{0};
  std::array<std::atomic<uint64_t>, kWords> words_{};
};

}  // namespace surgiclaw::realtime
