#include "surgiclaw/realtime/lateness_histogram.h"

#include <gtest/gtest.h>

#include <cstdint>

using surgiclaw::realtime::LatenessHistogram;

TEST(LatenessHistogram, isEmptyAtFirst) {
  const LatenessHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.quantileNs(0.5), 0U);
  EXPECT_EQ(histogram.maxNs(), 0U);
}

TEST(LatenessHistogram, findsQuantilesOfAUniformSpread) {
  LatenessHistogram histogram;
  for (uint64_t us = 1; us <= 10'000; ++us) histogram.add(us * 1000);
  EXPECT_EQ(histogram.count(), 10'000U);
  EXPECT_EQ(histogram.maxNs(), 10'000'000U);
  // The true quantiles are 5000 and 9900 µs; the edge lies at most 12.5 % above.
  EXPECT_GE(histogram.quantileNs(0.5), 5'000'000U);
  EXPECT_LE(histogram.quantileNs(0.5), 5'625'000U);
  EXPECT_GE(histogram.quantileNs(0.99), 9'900'000U);
  EXPECT_LE(histogram.quantileNs(0.99), 10'000'000U);
}

TEST(LatenessHistogram, isExactToOneMicrosecondWhenSmall) {
  LatenessHistogram histogram;
  for (int i = 0; i < 99; ++i) histogram.add(2'400);
  histogram.add(50'000'000'000);  // beyond the last bucket
  EXPECT_EQ(histogram.quantileNs(0.5), 3'000U);
  EXPECT_EQ(histogram.maxNs(), 50'000'000'000U);
  EXPECT_GT(histogram.quantileNs(1.0), 30'000'000'000U);
}
