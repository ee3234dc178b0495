#include "surgiclaw/learner/random.h"

#include <cmath>

namespace surgiclaw::learner {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

void Random::fill() {
  const std::uint64_t index = position_ / 4;
  block_ = philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream_, 0},
                  {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
}

std::uint32_t Random::word() {
  if (position_ % 4 == 0) fill();
  return block_[position_++ % 4];
}

void Random::seek(std::uint64_t position) {
  position_ = position;
  if (position % 4 != 0) fill();
}

float Random::uniform() { return static_cast<float>(word() >> 8) * 0x1p-24F; }

std::uint32_t Random::below(std::uint32_t count) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(word()) * count) >> 32);
}

void Random::normals(float* out, std::size_t count) {
  position_ = (position_ + 3) / 4 * 4;
  constexpr float kTurn = 6.283185307179586F;
  for (std::size_t at = 0; at < count; at += 4) {
    fill();
    position_ += 4;
    float four[4];
    for (int pair = 0; pair < 4; pair += 2) {
      // In (0, 1], so that the logarithm is finite.
      const float u = (static_cast<float>(block_[pair] >> 8) + 1) * 0x1p-24F;
      const float angle = kTurn * static_cast<float>(block_[pair + 1] >> 8) * 0x1p-24F;
      const float radius = std::sqrt(-2 * std::log(u));
      four[pair] = radius * std::cos(angle);
      four[pair + 1] = radius * std::sin(angle);
    }
    for (std::size_t i = 0; i < 4 && at + i < count; ++i) out[at + i] = four[i];
  }
}

}  // namespace surgiclaw::learner
