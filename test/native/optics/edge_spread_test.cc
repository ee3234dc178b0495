#include "edge_spread.h"

#include <gtest/gtest.h>

#include <cmath>

namespace surgiclaw::optics {
namespace {

TEST(GaussianEdge, IsTheNormalIntegral) {
  for (double x = -6; x <= 6; x += 0.01)
    EXPECT_NEAR(GaussianEdge::at(static_cast<float>(x)), 0.5 * std::erfc(-x / std::sqrt(2.0)), 2e-6) << x;
}

TEST(DiscEdge, IsTheShareOfADiscCutByALine) {
  // Area of the disc of radius 2 with first coordinate below x, by summing chords.
  constexpr int kChords = 200000;
  constexpr double kStep = 4.0 / kChords;
  double area = 0, next = -1.9;
  const double whole = 4 * std::acos(-1.0);
  for (int i = 0; i < kChords; ++i) {
    const double x = -2 + (i + 0.5) * kStep;
    area += 2 * std::sqrt(4 - x * x) * kStep;
    if (x >= next) {
      EXPECT_NEAR(DiscEdge::at(static_cast<float>(x + 0.5 * kStep)), area / whole, 1e-5) << x;
      next += 0.1;
    }
  }
  EXPECT_EQ(DiscEdge::at(-2.5f), 0.0f);
  EXPECT_EQ(DiscEdge::at(2.5f), 1.0f);
}

TEST(DiscEdge, HasUnitSecondMoment) {
  // Variance = integral of x^2 dE, by parts over a grid.
  double variance = 0;
  constexpr double kStep = 1e-3;
  for (double x = -2; x < 2; x += kStep) {
    const double mass = DiscEdge::at(static_cast<float>(x + kStep)) - DiscEdge::at(static_cast<float>(x));
    variance += mass * (x + kStep / 2) * (x + kStep / 2);
  }
  EXPECT_NEAR(variance, 1, 2e-3);
}

}  // namespace
}  // namespace surgiclaw::optics
