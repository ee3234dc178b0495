#include "surgiclaw/realtime/spsc_ring.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

using surgiclaw::realtime::SpscRing;

TEST(SpscRing, refusesWhenFullAndWhenEmpty) {
  SpscRing<int, 4> ring;
  int item = -1;
  EXPECT_FALSE(ring.tryPop(item));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.tryPush(i));
  EXPECT_FALSE(ring.tryPush(4));
  EXPECT_EQ(ring.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(ring.tryPop(item));
    EXPECT_EQ(item, i);
  }
  EXPECT_FALSE(ring.tryPop(item));
}

TEST(SpscRing, keepsOrderAndLosesNothingBetweenTwoThreads) {
  constexpr uint64_t kItems = 300'000;
  SpscRing<uint64_t, 64> ring;
  std::thread producer([&] {
    for (uint64_t i = 1; i <= kItems; ++i) {
      while (!ring.tryPush(i)) std::this_thread::yield();
    }
  });
  uint64_t sum = 0;
  bool ordered = true;
  for (uint64_t expected = 1; expected <= kItems;) {
    uint64_t item = 0;
    if (!ring.tryPop(item)) {
      std::this_thread::yield();
      continue;
    }
    ordered = ordered && item == expected++;
    sum += item;
  }
  producer.join();
  EXPECT_TRUE(ordered);
  EXPECT_EQ(sum, kItems * (kItems + 1) / 2);
}
