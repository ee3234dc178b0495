// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", 2011). A draw is a function of seed, stream and position, so that the state of a generator is
// one number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace surgiclaw::learner {

/// The bijection itself: four words of counter and two of key to four random words.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

class Random {
 public:
  /// @param stream names what is drawn, so that one consumer's draws never shift another's
  Random(std::uint64_t seed, std::uint32_t stream) : seed_(seed), stream_(stream) {}

  /// Uniform in [0, 1), 24 bits.
  float uniform();
  /// Whole number in [0, count); count at most 2^32. Without the bias of a modulus beyond 2^-32.
  std::uint32_t below(std::uint32_t count);
  /// Independent standard normal numbers (Box and Muller, two at a time). A call begins a new block.
  void normals(float* out, std::size_t count);

  /// Everything there is to save: words drawn so far.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position);

 private:
  std::uint32_t word();
  void fill();

  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint64_t position_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

}  // namespace surgiclaw::learner
