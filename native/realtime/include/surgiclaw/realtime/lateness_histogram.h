#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace surgiclaw::realtime {

/// Durations counted in fixed buckets: 1 µs wide below 8 µs, then eight buckets per doubling, up to 2^35 ns ≈
/// 34 s. One thread adds, any thread reads. Adding is RT-safe.
class LatenessHistogram {
 public:
  void add(uint64_t ns) noexcept;

  uint64_t count() const noexcept;
  /// The largest duration ever added, exactly, ns.
  uint64_t maxNs() const noexcept { return maxNs_.load(std::memory_order_relaxed); }
  /// The upper edge of the bucket that holds the quantile (0…1), ns: at most 12.5 % (or 1 µs) above the true
  /// one. 0 without entries.
  uint64_t quantileNs(double quantile) const noexcept;

 private:
  static constexpr int kOctaves = 22;  // 8 µs · 2^22 ≈ 34 s
  static constexpr size_t kBuckets = 8 + 8 * kOctaves;
  static size_t bucketOf(uint64_t ns) noexcept;
  static uint64_t upperEdgeNs(size_t bucket) noexcept;

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> maxNs_{0};
};

}  // namespace surgiclaw::realtime
