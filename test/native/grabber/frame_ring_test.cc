#include "surgiclaw/grabber/frame_ring.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "surgiclaw/grabber/grabber_error.h"

using namespace std::chrono_literals;
using namespace surgiclaw::grabber;

namespace {

constexpr size_t kBytes = 64;

std::shared_ptr<FrameRing> flowing(int slots, RingMode mode) {
  auto ring = FrameRing::make("ring", slots, kBytes, mode);
  ring->allocate();
  ring->setFlowing(true);
  return ring;
}

/// Publishes a frame of one grey value whose exposure began at `exposedNs`. False when no slot was free.
bool produce(FrameRing& ring, uint8_t value, uint64_t exposedNs, uint64_t skipped = 0) {
  const int slot = ring.take();
  if (slot < 0) return false;
  for (size_t i = 0; i < kBytes; ++i) ring.data(slot)[i] = value;
  FrameInfo info;
  info.width = 8;
  info.height = 8;
  info.stride = 8;
  info.hostMonotonicNs = exposedNs;
  ring.publish(slot, info, skipped);
  return true;
}

}  // namespace

TEST(FrameRing, newestWins) {
  auto ring = flowing(5, RingMode::newest);
  EXPECT_FALSE(ring->latest(0).valid());
  for (uint8_t i = 1; i <= 20; ++i) ASSERT_TRUE(produce(*ring, i, i * 100U));
  const FrameLease lease = ring->latest(0);
  ASSERT_TRUE(lease.valid());
  EXPECT_EQ(lease.info().sequence, 20U);
  EXPECT_EQ(lease.info().pixels[0], 20);
  EXPECT_FALSE(ring->latest(20).valid());
  // Two of five stay for latecomers, three are the producer's: eighteen were never seen.
  EXPECT_EQ(ring->counters().dropped, 18U);
  EXPECT_EQ(ring->counters().received, 20U);
}

TEST(FrameRing, aLeaseKeepsItsPixelsWhileFramesGoOn) {
  auto ring = flowing(6, RingMode::newest);
  ASSERT_TRUE(produce(*ring, 1, 100));
  FrameLease kept = ring->latest(0);
  for (uint8_t i = 2; i < 100; ++i) ASSERT_TRUE(produce(*ring, i, i * 100U));
  EXPECT_EQ(kept.info().pixels[0], 1);
  EXPECT_EQ(kept.info().pixels[kBytes - 1], 1);
  EXPECT_EQ(ring->counters().leasesHeld, 1U);
  FrameLease moved = std::move(kept);
  EXPECT_FALSE(kept.valid());  // NOLINT: that is the point
  EXPECT_TRUE(moved.valid());
  moved.release();
  moved.release();
  EXPECT_EQ(ring->counters().leasesHeld, 0U);
}

TEST(FrameRing, tooManyLeasesAreAnErrorAndTheStreamSurvives) {
  auto ring = flowing(6, RingMode::newest);
  std::vector<FrameLease> held;
  for (uint8_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(produce(*ring, i, i * 100U));
    held.push_back(ring->latest(i - 1U));
  }
  // The same frame again takes no further slot.
  EXPECT_TRUE(ring->latest(0).valid());
  ASSERT_TRUE(produce(*ring, 4, 400));
  try {
    ring->latest(3);
    FAIL() << "a fourth slot must not be leased: three of six are the producer's";
  } catch (const GrabberError& error) {
    EXPECT_EQ(error.fault(), GrabberFault::leasesExhausted);
  }
  for (uint8_t i = 5; i < 50; ++i) EXPECT_TRUE(produce(*ring, i, i * 100U)) << "frames must go on";
  held.clear();
  EXPECT_EQ(ring->latest(0).info().sequence, 49U);
  EXPECT_EQ(ring->counters().leasesHeld, 0U);
}

TEST(FrameRing, givesTheFirstFrameExposedAfterAMoment) {
  auto ring = flowing(8, RingMode::newest);
  for (uint8_t i = 1; i <= 4; ++i) ASSERT_TRUE(produce(*ring, i, i * 100U));
  EXPECT_EQ(ring->waitExposedAfter(199, 0ns).info().sequence, 2U);
  EXPECT_EQ(ring->waitExposedAfter(200, 0ns).info().sequence, 3U) << "exposed after, not at";
  EXPECT_FALSE(ring->waitExposedAfter(400, 1ms).valid());
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    produce(*ring, 5, 500);
  });
  const FrameLease lease = ring->waitExposedAfter(400, 10s);
  EXPECT_EQ(lease.info().sequence, 5U);
  later.join();
}

TEST(FrameRing, lossAndCloseEndWaitsAtOnce) {
  auto ring = flowing(5, RingMode::newest);
  std::thread closing([&] {
    std::this_thread::sleep_for(20ms);
    ring->setFlowing(false);
  });
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(ring->waitNewer(0, 1h).valid());
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
  closing.join();
}

TEST(FrameRing, countsSkippedFramesInTheSequenceAndGoesOnAfterARestart) {
  auto ring = flowing(5, RingMode::newest);
  ASSERT_TRUE(produce(*ring, 1, 100));
  ASSERT_TRUE(produce(*ring, 2, 200, 3));
  EXPECT_EQ(ring->latest(0).info().sequence, 5U);
  FrameLease old = ring->latest(0);
  ring->setFlowing(false);
  EXPECT_FALSE(ring->latest(0).valid());
  ring->setFlowing(true);
  EXPECT_FALSE(ring->latest(0).valid()) << "frames of the former stream are forgotten";
  EXPECT_EQ(old.info().pixels[0], 2) << "a lease outlives the stream";
  for (uint8_t i = 10; i < 20; ++i) ASSERT_TRUE(produce(*ring, i, i * 100U));
  EXPECT_EQ(old.info().pixels[0], 2);
  EXPECT_EQ(ring->latest(0).info().sequence, 15U);
}

TEST(FrameRing, boundedDeliversEachFrameInOrder) {
  auto ring = flowing(8, RingMode::bounded);
  uint64_t after = 0;
  for (uint8_t round = 0; round < 10; ++round) {
    for (uint8_t i = 0; i < 4; ++i) ASSERT_TRUE(produce(*ring, static_cast<uint8_t>(round * 4 + i), 0));
    for (uint8_t i = 0; i < 4; ++i) {
      const FrameLease lease = ring->waitNewer(after, 0ns);
      ASSERT_TRUE(lease.valid());
      EXPECT_EQ(lease.info().sequence, ++after);
      EXPECT_EQ(lease.info().pixels[0], round * 4 + i);
    }
  }
  EXPECT_EQ(ring->counters().dropped, 0U);
}

TEST(FrameRing, boundedFailsOnOverflowRatherThanLosingFramesSilently) {
  auto ring = flowing(8, RingMode::bounded);
  for (uint8_t i = 0; i < 6; ++i) ASSERT_TRUE(produce(*ring, i, 0));
  EXPECT_THROW(ring->latest(0), GrabberError);
  EXPECT_EQ(ring->counters().dropped, 1U);
  ring->setFlowing(true);
  EXPECT_FALSE(ring->latest(0).valid()) << "a restart forgives";
}

TEST(FrameRing, leasesOutliveTheRing) {
  FrameLease lease;
  {
    auto ring = flowing(5, RingMode::newest);
    ASSERT_TRUE(produce(*ring, 42, 100));
    lease = ring->latest(0);
  }
  EXPECT_EQ(lease.info().pixels[kBytes - 1], 42);
}
