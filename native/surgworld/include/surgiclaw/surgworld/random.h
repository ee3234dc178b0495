// Random numbers that are the same on every machine: the distributions of the standard library are not.
#pragma once

#include <cstdint>

namespace surgiclaw::surgworld {

/// SplitMix64: one 64-bit state, every seed is good.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

  /// Uniform in [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11U) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_;
};

/// The seed of one episode of one world: neither depends on how many others there are.
inline std::uint64_t episodeSeed(std::uint64_t seed, std::uint64_t world, std::uint64_t episode) {
  std::uint64_t mixed = Random(seed).next();
  mixed = Random(mixed ^ world).next();
  return Random(mixed ^ episode).next();
}

}  // namespace surgiclaw::surgworld
