#include "surgiclaw/grabber/frame_time.h"

#include <gtest/gtest.h>

#include <cstdint>

using namespace surgiclaw::grabber;

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
// A host up for 1000 s, in 2023.
const ClockPair kClocks{1'700'000'000 * kSecond, 1000 * kSecond};

}  // namespace

TEST(FrameTime, movesAWallClockStampToTheMonotonicClock) {
  // Stamped 30 ms before both clocks were read, arrived 5 ms before.
  const uint64_t device = kClocks.realtimeNs - 30 * kMs;
  EXPECT_EQ(exposureBeganNs(device, kClocks.monotonicNs - 5 * kMs, kClocks, 50 * kMs),
            kClocks.monotonicNs - 30 * kMs);
}

TEST(FrameTime, distrustsAnotherClockAndAWallClockThatWasSet) {
  const uint64_t arrival = kClocks.monotonicNs;
  const uint64_t fallback = arrival - 50 * kMs;
  // A device that counts from its power-on; wall time an hour ahead, an hour behind, and a stamp after the
  // arrival.
  EXPECT_EQ(exposureBeganNs(123 * kSecond, arrival, kClocks, 50 * kMs), fallback);
  EXPECT_EQ(exposureBeganNs(kClocks.realtimeNs + 3600 * kSecond, arrival, kClocks, 50 * kMs), fallback);
  EXPECT_EQ(exposureBeganNs(kClocks.realtimeNs - 3600 * kSecond, arrival, kClocks, 50 * kMs), fallback);
  EXPECT_EQ(exposureBeganNs(kClocks.realtimeNs + 1 * kMs, arrival, kClocks, 50 * kMs), fallback);
  EXPECT_EQ(exposureBeganNs(0, 10 * kMs, kClocks, 50 * kMs), 0U);
}

TEST(FrameTime, clocksAreReadTogether) {
  const ClockPair a = readClockPair();
  const ClockPair b = readClockPair();
  const auto offsetA = static_cast<int64_t>(a.realtimeNs - a.monotonicNs);
  const auto offsetB = static_cast<int64_t>(b.realtimeNs - b.monotonicNs);
  EXPECT_LT(offsetA > offsetB ? offsetA - offsetB : offsetB - offsetA, static_cast<int64_t>(100 * kMs));
}

TEST(FrameTime, countsSkippedFramesModulo65535) {
  EXPECT_EQ(skippedFrames(65401, 65402), 0U);
  EXPECT_EQ(skippedFrames(65401, 65405), 3U);
  EXPECT_EQ(skippedFrames(65535, 1), 0U) << "zero is never used";
  EXPECT_EQ(skippedFrames(65534, 2), 2U) << "65535 and 1 are missing";
  EXPECT_EQ(skippedFrames(7, 7), 0U);
  EXPECT_EQ(skippedFrames(7, 6), 0U) << "a late frame is no loss";
  EXPECT_EQ(skippedFrames(65535, 65536), 0U) << "extended numbers do not wrap";
  EXPECT_EQ(skippedFrames(70000, 70010), 9U);
}
