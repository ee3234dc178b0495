#include "noise_tile.h"

#include <algorithm>
#include <cmath>

#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::optics {
namespace {

/// Sebastiano Vigna's splitmix64: a full-period mixing of a counter.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

double unitInterval(std::uint64_t value) { return static_cast<double>(value >> 11) * 0x1.0p-53; }

}  // namespace

NoiseTile::NoiseTile(std::uint64_t seed) : seed_(mix(seed)), numbers_(kLength + kSensorSize) {
  std::uint64_t counter = seed_;
  const auto next = [&counter] { return 2 * unitInterval(mix(counter++)) - 1; };
  const auto stored = [](double normal) {
    return static_cast<std::int8_t>(std::lround(std::clamp(normal * kSigmaCounts, -127.0, 127.0)));
  };
  // Marsaglia's polar method gives two numbers at a time.
  for (std::size_t i = 0; i < kLength;) {
    const double u = next(), v = next();
    const double s = u * u + v * v;
    if (s <= 0 || s >= 1) continue;
    const double k = std::sqrt(-2 * std::log(s) / s);
    numbers_[i++] = stored(u * k);
    numbers_[i++] = stored(v * k);
  }
  std::copy_n(numbers_.begin(), kSensorSize, numbers_.begin() + static_cast<std::ptrdiff_t>(kLength));
}

const std::int8_t* NoiseTile::row(std::size_t camera, std::uint64_t frame, int row) const {
  const std::uint64_t key =
      mix(mix(seed_ ^ (frame * kMaxCameras + camera)) ^ static_cast<std::uint64_t>(row));
  return numbers_.data() + key % kLength;
}

}  // namespace surgiclaw::optics
