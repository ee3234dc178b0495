#include "surgiclaw/optics/scene_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace surgiclaw::optics {
namespace {

class StateFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "scene-state-" + std::to_string(getpid()) + "-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::remove(path_.c_str());
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_;
};

SceneState example() {
  SceneState state;
  state.monotonicNs = 123456789;
  state.light = 0.9;
  state.tissueShiftM = {1e-6, 2e-6, 3e-6};
  state.cameras[1] = {-4e-4, {5e-6, 6e-6}, false, true};
  state.segments.push_back({{1, 2, 3}, {4, 5, 6}, 7, 8, 0.12, SegmentKind::kHook});
  return state;
}

TEST(SceneStateLayout, IsTheOneThatIsDocumented) {
  const std::vector<double> flat = packState(example());
  ASSERT_EQ(flat.size(), 50u);
  EXPECT_EQ(flat[0], 123456789);
  EXPECT_EQ(flat[1], 0.9);
  EXPECT_EQ(flat[4], 3e-6);
  EXPECT_EQ(flat[5], 1);
  EXPECT_EQ(flat[8 + 3], 1) << "camera 0 online";
  EXPECT_EQ(flat[16], -4e-4);
  EXPECT_EQ(flat[18], 6e-6);
  EXPECT_EQ(flat[19], 0) << "camera 1 offline";
  EXPECT_EQ(flat[20], 1) << "camera 1 frozen";
  EXPECT_EQ(flat[43], 4) << "b of segment 0";
  EXPECT_EQ(flat[47], 8) << "its radius at b";
  EXPECT_EQ(flat[49], 1) << "a hook";
}

TEST(SceneStateLayout, RefusesWhatIsNoState) {
  std::vector<double> flat = packState(example());
  EXPECT_THROW(unpackState(flat.data(), 49), StateError) << "a segment is cut off";
  EXPECT_THROW(unpackState(flat.data(), 12), StateError);
  flat[41] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(unpackState(flat.data(), flat.size()), StateError);
  flat = packState(example());
  flat[49] = 5;
  EXPECT_THROW(unpackState(flat.data(), flat.size()), StateError) << "no such kind";
  flat = packState(example());
  flat[46] = 0;
  EXPECT_THROW(unpackState(flat.data(), flat.size()), StateError) << "no radius";
  flat = packState(example());
  flat[5] = 193;
  EXPECT_THROW(unpackState(flat.data(), flat.size()), StateError) << "too many segments";
}

TEST_F(StateFileTest, HasNothingBeforeTheFirstWrite) {
  StateReader reader(path_);
  SceneState state;
  EXPECT_FALSE(reader.read(state));
}

TEST_F(StateFileTest, CarriesAState) {
  StateWriter writer(path_);
  const std::vector<double> flat = packState(example());
  writer.write(flat.data(), flat.size());
  StateReader reader(path_);
  SceneState state;
  ASSERT_TRUE(reader.read(state));
  EXPECT_EQ(state.segments.at(0).b[2], 6);
  EXPECT_EQ(state.segments.at(0).kind, SegmentKind::kHook);
  EXPECT_FALSE(state.cameras[1].online);
  EXPECT_TRUE(state.cameras[1].frozen);
}

TEST_F(StateFileTest, NeverShowsHalfAState) {
  // Every number of a state tells which state it is from.
  StateWriter writer(path_);
  StateReader reader(path_);
  std::atomic<bool> stop{false};
  const auto stateOf = [](double n) {
    SceneState state;
    state.monotonicNs = n;
    state.tissueShiftM = {n, n, n};
    const auto segments = static_cast<std::size_t>(n) % kMaxSegments + 1;
    for (std::size_t i = 0; i < segments; ++i)
      state.segments.push_back({{n, n, n}, {n, n, n}, n + 1, n + 1, n, SegmentKind::kLoop});
    return state;
  };
  std::thread writing([&] {
    for (double n = 0; !stop; ++n) {
      const std::vector<double> flat = packState(stateOf(n));
      writer.write(flat.data(), flat.size());
    }
  });
  double last = -1;
  int seen = 0;
  SceneState state;
  while (seen < 20000) {
    if (!reader.read(state)) continue;
    ++seen;
    const double n = state.monotonicNs;
    ASSERT_GE(n, last) << "time runs backward";
    last = n;
    ASSERT_EQ(state.segments.size(), static_cast<std::size_t>(n) % kMaxSegments + 1);
    for (const Segment& segment : state.segments) {
      ASSERT_EQ(segment.a[0], n);
      ASSERT_EQ(segment.radiusB, n + 1);
      ASSERT_EQ(segment.reflectance, n);
    }
  }
  stop = true;
  writing.join();
  EXPECT_GT(last, 0);
}

TEST_F(StateFileTest, HasOneWriter) {
  StateWriter writer(path_);
  EXPECT_THROW(StateWriter second(path_), StateError);
}

TEST_F(StateFileTest, SurvivesAWriterThatDiedInTheMiddle) {
  const std::vector<double> flat = packState(example());
  {
    StateWriter writer(path_);
    writer.write(flat.data(), flat.size());
  }
  StateFile file(path_);
  file.memory().sequence.fetch_add(1);
  StateReader reader(path_);
  SceneState state;
  EXPECT_FALSE(reader.read(state)) << "the array may be torn";
  StateWriter again(path_);
  EXPECT_FALSE(reader.read(state)) << "still the torn one";
  again.write(flat.data(), flat.size());
  EXPECT_TRUE(reader.read(state));
}

TEST_F(StateFileTest, RefusesAForeignFile) {
  std::ofstream(path_) << "seed: 7, this is something else";
  EXPECT_THROW(StateReader reader(path_), StateError);
}

}  // namespace
}  // namespace surgiclaw::optics
