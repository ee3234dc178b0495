#include "surgiclaw/realtime/snapshot_cell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

using surgiclaw::realtime::SnapshotCell;

namespace {

struct Value {
  uint64_t a = 0;
  uint64_t notA = ~uint64_t{0};
  uint64_t filler[6] = {};
  uint8_t last = 0;
};

}  // namespace

TEST(SnapshotCell, givesTheNewestValue) {
  SnapshotCell<Value> cell;
  EXPECT_EQ(cell.load().a, 0U);
  EXPECT_EQ(cell.version(), 1U);
  cell.store({7, ~uint64_t{7}, {}, 3});
  EXPECT_EQ(cell.load().a, 7U);
  EXPECT_EQ(cell.load().last, 3);
  EXPECT_EQ(cell.version(), 2U);
}

TEST(SnapshotCell, neverMixesTwoValuesNorGoesBack) {
  SnapshotCell<Value> cell;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint64_t i = 1; i <= 200'000; ++i) {
      Value value{i, ~i, {i, i, i, i, i, i}, static_cast<uint8_t>(i)};
      cell.store(value);
    }
    done.store(true);
  });
  bool whole = true;
  bool forward = true;
  uint64_t before = 0;
  while (!done.load()) {
    const Value value = cell.load();
    whole = whole && value.notA == ~value.a && value.filler[5] == value.a &&
            value.last == static_cast<uint8_t>(value.a);
    forward = forward && value.a >= before;
    before = value.a;
  }
  writer.join();
  EXPECT_TRUE(whole);
  EXPECT_TRUE(forward);
  EXPECT_EQ(cell.load().a, 200'000U);
}
