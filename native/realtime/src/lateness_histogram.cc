#include "surgiclaw/realtime/lateness_histogram.h"

#include <algorithm>
#include <cmath>

namespace surgiclaw::realtime {

size_t LatenessHistogram::bucketOf(uint64_t ns) noexcept {
  const uint64_t us = ns / 1000;
  if (us < 8) return static_cast<size_t>(us);
  const int octave = 60 - __builtin_clzll(us);  // 8…15 µs is octave 0
  if (octave >= kOctaves) return kBuckets - 1;
  const uint64_t part = (us >> octave) & 7U;  // the three bits below the leading one
  return 8 + 8 * static_cast<size_t>(octave) + static_cast<size_t>(part);
}

uint64_t LatenessHistogram::upperEdgeNs(size_t bucket) noexcept {
  if (bucket < 8) return (bucket + 1) * 1000;
  const size_t octave = (bucket - 8) / 8;
  const uint64_t part = (bucket - 8) % 8;
  return ((8 + part + 1) << octave) * 1000;
}

void LatenessHistogram::add(uint64_t ns) noexcept {
  buckets_[bucketOf(ns)].fetch_add(1, std::memory_order_relaxed);
  if (ns > maxNs_.load(std::memory_order_relaxed)) maxNs_.store(ns, std::memory_order_relaxed);
}

uint64_t LatenessHistogram::count() const noexcept {
  uint64_t sum = 0;
  for (const auto& bucket : buckets_) sum += bucket.load(std::memory_order_relaxed);
  return sum;
}

uint64_t LatenessHistogram::quantileNs(double quantile) const noexcept {
  const uint64_t all = count();
  if (all == 0 || !std::isfinite(quantile)) return 0;
  const double share = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(all);
  const uint64_t wanted = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(share)));
  uint64_t sum = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    sum += buckets_[i].load(std::memory_order_relaxed);
    if (sum >= wanted) return std::min(upperEdgeNs(i), maxNs());
  }
  return maxNs();
}

}  // namespace surgiclaw::realtime
