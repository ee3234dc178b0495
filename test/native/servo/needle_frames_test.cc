// The loop on pictures: frames of a drawn needle, the real tracker, the fake stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "fake_aries.h"
#include "surgiclaw/servo/alignment_loop.h"

namespace surgiclaw::servo {
namespace {

using test::FakeAries;

constexpr int kSize = 1024;
constexpr double kGoalX = 512;
constexpr double kGoalY = 600;
constexpr double kPxPerPulse = 0.5 / 1.171875;

/// A dark vertical needle on a grainy ground: 34 px wide, tapering to 20 px over its last 200 px, its end a
/// half circle of radius 10 px whose lowest point is the tip. Edges soft by a pixel or so.
class DrawnNeedle final : public grabber::FrameSource {
 public:
  DrawnNeedle(const FakeAries& stage, std::array<double, 3> u, std::array<double, 3> v, uint32_t seed)
      : stage_(stage), u_(u), v_(v), ground_(size_t{kSize} * kSize), frame_(ground_.size()) {
    std::mt19937 random(seed);
    std::normal_distribution<double> grain(140, 4);
    for (uint8_t& pixel : ground_) pixel = static_cast<uint8_t>(std::clamp(grain(random), 0.0, 255.0));
  }

  const std::string& name() const override { return name_; }
  grabber::FrameLease latest(uint64_t) override { return {}; }
  grabber::FrameLease waitNewer(uint64_t, std::chrono::nanoseconds) override { return {}; }
  grabber::FrameLease waitExposedAfter(uint64_t monotonicNs, std::chrono::nanoseconds) override {
    constexpr uint64_t kPeriodNs = 10'000'000;
    grabber::FrameInfo info;
    info.hostMonotonicNs = (monotonicNs / kPeriodNs + 1) * kPeriodNs;
    std::this_thread::sleep_until(
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(info.hostMonotonicNs + kPeriodNs)));
    draw();
    info.sequence = ++sequence_;
    info.width = kSize;
    info.height = kSize;
    info.stride = kSize;
    info.pixels = frame_.data();
    return grabber::FrameLease(info, 0, [] {});
  }
  uint64_t silenceNs() const override { return 0; }
  bool lost() const override { return false; }
  grabber::Counters counters() const override { return {}; }

  std::array<double, 2> tip() const {
    std::array<double, 2> tip{kGoalX, kGoalY};
    for (int axis = 0; axis < 3; ++axis) {
      tip[0] += u_[static_cast<size_t>(axis)] * stage_.physical(axis + 1);
      tip[1] += v_[static_cast<size_t>(axis)] * stage_.physical(axis + 1);
    }
    return tip;
  }

 private:
  void draw() {
    std::memcpy(frame_.data(), ground_.data(), ground_.size());
    const auto [tipX, tipY] = tip();
    for (int y = 0; y < std::min(kSize, static_cast<int>(tipY) + 6); ++y) {
      for (int x = std::max(0, static_cast<int>(tipX) - 24); x < std::min(kSize, static_cast<int>(tipX) + 25);
           ++x) {
        // Signed distance to the outline, negative inside; soft over about ±1.5 px.
        const double up = tipY - 10 - y;
        const double across = std::abs(x - tipX);
        const double distance =
            up < 0 ? std::hypot(across, up) - 10 : across - (10 + 7 * std::min(1.0, up / 200));
        const double cover = 0.5 * std::erfc(distance / 1.2);
        uint8_t& pixel = frame_[static_cast<size_t>(y) * kSize + static_cast<size_t>(x)];
        pixel = static_cast<uint8_t>(pixel * (1 - cover) + 40 * cover);
      }
    }
  }

  const FakeAries& stage_;
  const std::array<double, 3> u_;
  const std::array<double, 3> v_;
  const std::string name_ = "drawn";
  std::vector<uint8_t> ground_;
  std::vector<uint8_t> frame_;
  uint64_t sequence_ = 0;
};

TEST(NeedleFrames, bringsTheTipToTheGoalInBothViews) {
  FakeAries stage;
  for (const auto& [axis, pulses] : {std::pair(1, 310.0), std::pair(2, -190.0), std::pair(3, -330.0)}) {
    test::FakeAxis values;
    values.counter = pulses;
    values.physical = pulses;
    stage.edit(axis, values);
  }
  // Two side views, seen from ±60°: both see z downwards, x and y along the image in different shares.
  const double c = kPxPerPulse * std::cos(std::acos(-1.0) / 3);
  const double s = kPxPerPulse * std::sin(std::acos(-1.0) / 3);
  const std::array<double, 3> u1{c, s, 0};
  const std::array<double, 3> u2{-c, s, 0};
  const std::array<double, 3> v{0, 0, kPxPerPulse * 0.8};
  const auto first = std::make_shared<DrawnNeedle>(stage, u1, v, 1);
  const auto second = std::make_shared<DrawnNeedle>(stage, u2, v, 2);

  AlignmentOptions options;
  options.stages.host = "127.0.0.1";
  options.stages.port = stage.port();
  options.speedTable = 3;
  options.goals = {{{kGoalX, kGoalY}, {kGoalX, kGoalY}}};
  for (int axis = 0; axis < 3; ++axis) {
    const auto i = static_cast<size_t>(axis);
    options.axes.push_back({axis + 1, {u1[i], v[i], u2[i], v[i]}, -10000, 10000, 1});
  }
  options.tolerancePx = 2;
  options.maxStepPulses = 500;
  options.approachPulses = 8;
  options.timeoutS = 60;
  AlignmentLoop loop(options, needleEye(first), needleEye(second), nullptr);
  const AlignmentReport report = loop.run();
  ASSERT_EQ(report.status, ServoStatus::kConverged) << report.detail;
  for (const auto& view : {first, second}) {
    const auto tip = view->tip();
    EXPECT_LT(std::hypot(tip[0] - kGoalX, tip[1] - kGoalY), 3.0);
  }
  EXPECT_TRUE(report.needles[0].found);
  EXPECT_NEAR(report.needles[0].tipX, first->tip()[0], 1.0);
  EXPECT_NEAR(report.needles[0].tipY, first->tip()[1], 1.5);
}

}  // namespace
}  // namespace surgiclaw::servo
