// Standard-normal numbers made once, from which every row of every frame takes a stretch of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surgiclaw::optics {

class NoiseTile {
 public:
  static constexpr float kSigmaCounts = 32;  ///< standard deviation of the stored 8-bit numbers
  static constexpr std::size_t kLength = std::size_t{1} << 22;

  explicit NoiseTile(std::uint64_t seed);

  /// The numbers for one row: where they start is drawn from (seed, camera, frame, row), so that no two
  /// frames near one another use the same stretch for a row. At least kSensorSize numbers.
  [[nodiscard]] const std::int8_t* row(std::size_t camera, std::uint64_t frame, int row) const;

 private:
  std::uint64_t seed_;
  std::vector<std::int8_t> numbers_;
};

}  // namespace surgiclaw::optics
