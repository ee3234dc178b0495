#include "surgiclaw/learner/alias_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "surgiclaw/learner/error.h"

namespace surgiclaw::learner {
namespace {

TEST(AliasTable, HoldsTheProbabilitiesItWasGiven) {
  const std::vector<double> shares{3, 0, 1, 0.5, 5.5};
  const AliasTable table(shares);
  for (std::uint32_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(table.probability(i), shares[i] / 10, 1e-7);
}

TEST(AliasTable, DrawsByThem) {
  const AliasTable table({1, 0, 3});
  Random random(11, 1);
  int counts[3] = {};
  for (int i = 0; i < 40'000; ++i) ++counts[table.draw(random)];
  EXPECT_EQ(counts[1], 0);
  // Standard deviation 86.6.
  EXPECT_NEAR(counts[0], 10'000, 430);
}

TEST(AliasTable, RefusesWhatIsNoDistribution) {
  EXPECT_THROW(AliasTable({1, -0.5}), LearnerError);
  EXPECT_THROW(AliasTable({1, std::numeric_limits<double>::quiet_NaN()}), LearnerError);
  EXPECT_THROW(AliasTable({0, 0}), LearnerError);
}

}  // namespace
}  // namespace surgiclaw::learner
