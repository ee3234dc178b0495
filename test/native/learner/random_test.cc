#include "surgiclaw/learner/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace surgiclaw::learner {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers of the authors' library (Random123, kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, GoesOnFromAnyPosition) {
  Random whole(7, 3);
  std::vector<float> drawn;
  for (int i = 0; i < 11; ++i) drawn.push_back(whole.uniform());
  for (std::uint64_t from = 0; from < drawn.size(); ++from) {
    Random later(7, 3);
    later.seek(from);
    EXPECT_EQ(later.uniform(), drawn[from]);
  }
}

TEST(Random, StreamsAndSeedsDiffer) {
  EXPECT_NE(Random(7, 3).uniform(), Random(7, 4).uniform());
  EXPECT_NE(Random(7, 3).uniform(), Random(8, 3).uniform());
}

// Moments of 200,000 draws: standard errors are 0.0022, 0.0032, 0.0055 and 0.011.
TEST(Random, NormalsHaveTheMomentsOfANormal) {
  constexpr std::size_t kCount = 200'000;
  std::vector<float> values(kCount);
  Random(1, 1).normals(values.data(), kCount);
  double moments[5] = {};
  for (const float value : values)
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(value, power) / kCount;
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.015);
  EXPECT_NEAR(moments[3], 0, 0.04);
  EXPECT_NEAR(moments[4], 3, 0.06);
}

TEST(Random, BelowReachesEveryNumberEquallyOften) {
  Random random(5, 1);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[random.below(7)];
  // Standard deviation 92.6.
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 450);
}

}  // namespace
}  // namespace surgiclaw::learner
