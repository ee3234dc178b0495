#include "surgiclaw/servo/alignment_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "fake_aries.h"

namespace surgiclaw::servo {
namespace {

using namespace std::chrono_literals;
using test::FakeAries;

constexpr double kPxPerPulse = 0.5 / 1.171875;  // 0.5 µm a pulse, 1.171875 µm a pixel
constexpr double kGoal = 1024;

/// Two views of the reference cell's arrangement: azimuth 30° and 150°, elevation 35°. Row-major 4 × 3, px
/// per pulse. u is horizontal in the image; v points down, and a motion along +z of the head (down) moves the
/// tip down.
Eigen::Matrix<double, 4, 3> trueJacobian() {
  Eigen::Matrix<double, 4, 3> jacobian;
  const double degree = std::acos(-1.0) / 180;
  for (int view = 0; view < 2; ++view) {
    const double azimuth = (view == 0 ? 30 : 150) * degree;
    const double elevation = 35 * degree;
    const Eigen::Vector3d right(-std::sin(azimuth), std::cos(azimuth), 0);
    const Eigen::Vector3d down(std::sin(elevation) * std::cos(azimuth),
                               std::sin(elevation) * std::sin(azimuth), -std::cos(elevation));
    jacobian.row(2 * view) = kPxPerPulse * right.transpose();
    jacobian.row(2 * view + 1) = kPxPerPulse * down.transpose();
  }
  return jacobian;
}

/// What a camera would see of the fake stage's table: exposed every 4 ms, noise of a fraction of a pixel.
class StageEye final : public Eye {
 public:
  StageEye(const FakeAries& stage, int view, double noisePx, uint32_t seed)
      : stage_(stage), rows_(trueJacobian().middleRows<2>(2 * view)), noise_(0, noisePx), random_(seed) {}

  std::atomic<bool> blind{false};   ///< frames come, without a needle
  std::atomic<bool> silent{false};  ///< no frames
  std::atomic<int> looks{0};

  Look look(uint64_t exposedAfterNs, std::chrono::nanoseconds timeout,
            const geometry::NeedleEstimate&) override {
    Look look;
    if (silent.load()) {
      std::this_thread::sleep_for(timeout);
      return look;
    }
    constexpr uint64_t kPeriodNs = 4'000'000;
    look.frameNs = (exposedAfterNs / kPeriodNs + 1) * kPeriodNs;
    const auto due =
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(look.frameNs + kPeriodNs));
    std::this_thread::sleep_until(due);
    ++looks;
    if (blind.load()) {
      look.result = Look::Result::kNotFound;
      look.needle.reason = "blind";
      return look;
    }
    const Eigen::Vector3d table(stage_.physical(1), stage_.physical(2), stage_.physical(3));
    const Eigen::Vector2d tip = rows_ * table;
    look.result = Look::Result::kSeen;
    look.needle.found = true;
    look.needle.tipX = kGoal + tip(0) + noise_(random_);
    look.needle.tipY = kGoal + tip(1) + noise_(random_);
    return look;
  }

 private:
  const FakeAries& stage_;
  const Eigen::Matrix<double, 2, 3> rows_;
  std::normal_distribution<double> noise_;
  std::mt19937 random_;
};

class Alignment : public ::testing::Test {
 protected:
  /// The table stands 0.3 mm off in x and z and the lost motion is 1 µm (2 pulses), unless a test says
  /// otherwise.
  Alignment() {
    place(1, 500);
    place(2, -260);
    place(3, -610);
    options.stages.host = "127.0.0.1";
    options.stages.port = stage.port();
    options.speedTable = 5;
    for (int axis = 0; axis < 3; ++axis) {
      AxisOptions each;
      each.axis = axis + 1;
      // ±2 % magnification and ±1° of the microscope axes, as the twin's floors have it.
      const double error = axis == 1 ? 0.98 : 1.02;
      for (int row = 0; row < 4; ++row) {
        each.pxPerPulse[static_cast<size_t>(row)] =
            error * trueJacobian()(row, axis) + 0.007 * ((row + axis) % 2 ? 1 : -1);
      }
      each.minPulses = -10000;
      each.maxPulses = 10000;
      each.approach = axis == 2 ? -1 : 1;
      options.axes.push_back(each);
    }
    options.goals = {{{kGoal, kGoal}, {kGoal, kGoal}}};
    options.tolerancePx = 2.0;
    options.maxStepPulses = 1000;
    options.approachPulses = 8;
    options.timeoutS = 30;
  }

  void place(int axis, double pulses) {
    test::FakeAxis values;
    values.counter = pulses;
    values.physical = pulses - 1;  // the nut floats in its play
    stage.edit(axis, values);
  }

  AlignmentLoop& loop() {
    if (!loop_) {
      auto first = std::make_unique<StageEye>(stage, 0, 0.15, 1);
      auto second = std::make_unique<StageEye>(stage, 1, 0.15, 2);
      eyes = {first.get(), second.get()};
      loop_ = std::make_unique<AlignmentLoop>(options, std::move(first), std::move(second), vitals);
    }
    return *loop_;
  }

  double trueErrorPx() const {
    const Eigen::Vector3d table(stage.physical(1), stage.physical(2), stage.physical(3));
    return worstViewPx(trueJacobian() * table);
  }
  bool anyDriving() const { return stage.driving(1) || stage.driving(2) || stage.driving(3); }

  FakeAries stage;
  AlignmentOptions options;
  Watch::Vitals vitals;
  std::array<StageEye*, 2> eyes{};

 private:
  std::unique_ptr<AlignmentLoop> loop_;
};

TEST_F(Alignment, convergesDespiteLostMotionNoiseAndACrookedJacobian) {
  const AlignmentReport report = loop().run();
  ASSERT_EQ(report.status, ServoStatus::kConverged) << report.detail;
  EXPECT_LT(trueErrorPx(), 2.5);  // tolerance and the noise of the looks that accepted it
  EXPECT_LT(report.errorPx[0], 2.0);
  EXPECT_LT(report.errorPx[1], 2.0);
  EXPECT_LE(report.iterations, 8);
  ASSERT_EQ(report.positionsPulses.size(), 3U);
  for (int axis = 1; axis <= 3; ++axis) {
    EXPECT_EQ(report.positionsPulses[static_cast<size_t>(axis - 1)], std::lround(stage.counter(axis)));
  }
  // From the frame to the commands: at least the exposure, at most what a loaded machine makes of it.
  EXPECT_GT(report.frameToCommandS, 0.004);
  EXPECT_LT(report.frameToCommandS, 2.0);
}

TEST_F(Alignment, convergesOverALineThatIsLent) {
  options.stages.descriptor = stage.openSerialLine();
  options.stages.framing = AriesFraming::kSerial;
  const AlignmentReport report = loop().run();
  ASSERT_EQ(report.status, ServoStatus::kConverged) << report.detail;
  EXPECT_LT(trueErrorPx(), 2.5);
  // The line stays open for its owner.
  EXPECT_EQ(::write(options.stages.descriptor, "\x02RDP1\r\n", 7), 7);
}

TEST_F(Alignment, stopsAtOnceOverALineThatIsLent) {
  options.stages.descriptor = stage.openSerialLine();
  options.stages.framing = AriesFraming::kSerial;
  stage.setSpeed(200);
  AlignmentLoop& running = loop();
  std::thread stopper([&] {
    while (stage.count("APS") < 3) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    running.stop();
  });
  const AlignmentReport report = running.run();
  stopper.join();
  EXPECT_EQ(report.status, ServoStatus::kStopped) << report.detail;
  EXPECT_FALSE(anyDriving());
  EXPECT_EQ(stage.count("STP0/0"), 1U);
}

TEST_F(Alignment, endsEveryMotionInTheApproachDirection) {
  ASSERT_EQ(loop().run().status, ServoStatus::kConverged);
  // With the play always taken up on the same side the table lags its counter by the full play, or by none.
  EXPECT_NEAR(stage.counter(1) - stage.physical(1), 2, 1e-9);
  EXPECT_NEAR(stage.counter(2) - stage.physical(2), 2, 1e-9);
  EXPECT_NEAR(stage.counter(3) - stage.physical(3), 0, 1e-9);
}

TEST_F(Alignment, convergesThroughSplitRepliesAndAxesThatStillDrive) {
  stage.splitReplies = true;
  stage.lateDriving = 3;
  const AlignmentReport report = loop().run();
  EXPECT_EQ(report.status, ServoStatus::kConverged) << report.detail;
  EXPECT_EQ(stage.lateDriving.load(), 0);
}

TEST_F(Alignment, learnsAJacobianThatIsFarOff) {
  for (AxisOptions& axis : options.axes) {
    for (double& value : axis.pxPerPulse) value *= 1.6;
  }
  options.broyden = true;
  const AlignmentReport report = loop().run();
  EXPECT_EQ(report.status, ServoStatus::kConverged) << report.detail;
}

TEST_F(Alignment, givesUpOnAJacobianOfTheWrongSignWithoutRunningAway) {
  for (AxisOptions& axis : options.axes) {
    for (double& value : axis.pxPerPulse) value = -value;
  }
  const double startPx = trueErrorPx();
  const AlignmentReport report = loop().run();
  EXPECT_EQ(report.status, ServoStatus::kNotConverged) << report.detail;
  EXPECT_LE(report.iterations, 3);
  EXPECT_LT(trueErrorPx(), startPx + 3 * 1.5 * 1000 * kPxPerPulse);  // two or three clamped steps
  EXPECT_FALSE(anyDriving());
}

TEST_F(Alignment, givesUpWhenTheErrorStays) {
  test::FakeAxis stuck;  // the motor turns, the table stays
  stuck.counter = 500;
  stuck.physical = 400;
  stuck.stuck = true;
  stage.edit(1, stuck);
  const AlignmentReport report = loop().run();
  EXPECT_EQ(report.status, ServoStatus::kNotConverged) << report.detail;
  EXPECT_FALSE(anyDriving());
}

TEST_F(Alignment, sendsNothingBeyondTheEnvelope) {
  options.axes[0].maxPulses = 600;
  options.axes[0].minPulses = 400;  // the goal lies near 0
  const AlignmentReport report = loop().run();
  EXPECT_EQ(report.status, ServoStatus::kEnvelope) << report.detail;
  EXPECT_NE(report.detail.find("axis 1"), std::string::npos);
  EXPECT_EQ(stage.count("APS"), 0U);
}

TEST_F(Alignment, runsNoOptionsThatAreNotFiniteOrOutOfRange) {
  options.goals[1][0] = std::nan("");
  EXPECT_EQ(loop().run().status, ServoStatus::kEnvelope);
  EXPECT_TRUE(stage.commands().empty());

  const AlignmentOptions good = [this] {
    AlignmentOptions fixed = options;
    fixed.goals[1][0] = kGoal;
    return fixed;
  }();
  EXPECT_EQ(alignmentProblem(good), "");
  const auto problem = [&](auto change) {
    AlignmentOptions bad = good;
    change(bad);
    return alignmentProblem(bad);
  };
  EXPECT_NE(problem([](auto& o) { o.axes[0].pxPerPulse[2] = HUGE_VAL; }), "");
  EXPECT_NE(problem([](auto& o) { o.axes[1].axis = 1; }), "");
  EXPECT_NE(problem([](auto& o) { o.axes[1].approach = 0; }), "");
  EXPECT_NE(problem([](auto& o) { o.axes.clear(); }), "");
  EXPECT_NE(problem([](auto& o) { o.maxStepPulses = 0; }), "");
  EXPECT_NE(problem([](auto& o) { o.shrinkFactor = 1; }), "");
  EXPECT_NE(problem([](auto& o) { o.timeoutS = NAN; }), "");
  EXPECT_NE(problem([](auto& o) { o.stages.port = 0; }), "");
  EXPECT_NE(problem([](auto& o) { o.stages.statusFields = 4; }), "");
}

TEST_F(Alignment, stopsAtOnceFromAnotherThread) {
  stage.setSpeed(200);  // the first move would take seconds
  AlignmentLoop& running = loop();
  std::thread stopper([&] {
    while (stage.count("APS") < 3) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    running.stop();
  });
  const AlignmentReport report = running.run();
  stopper.join();
  EXPECT_EQ(report.status, ServoStatus::kStopped) << report.detail;
  EXPECT_FALSE(anyDriving());
  EXPECT_EQ(stage.count("STP0/0"), 1U);
  // Nothing is commanded after the stop.
  const auto commands = stage.commands();
  bool stopped = false;
  for (const auto& command : commands) {
    stopped = stopped || command.text.rfind("STP", 0) == 0;
    EXPECT_FALSE(stopped && command.text.rfind("APS", 0) == 0);
  }
}

TEST_F(Alignment, stopReachesAControllerThatOwesAReply) {
  stage.setSpeed(200);
  AlignmentLoop& running = loop();
  options.timing.exchange = 400ms;
  double firedS = 0;
  std::thread stopper([&] {
    while (stage.count("APS") < 3) std::this_thread::sleep_for(1ms);
    stage.mute = true;  // the servo thread now waits for a reply that will not come
    std::this_thread::sleep_for(10ms);
    firedS = test::nowS();
    running.stop();
  });
  const AlignmentReport report = running.run();
  stopper.join();
  EXPECT_EQ(report.status, ServoStatus::kLink)
      << report.detail;  // the exchange fails before the flag is looked at
  EXPECT_FALSE(anyDriving());
  for (const auto& command : stage.commands()) {
    if (command.text == "STP0/0") {
      EXPECT_LT(command.atS - firedS, 0.25);
      return;
    }
  }
  FAIL() << "no stop arrived";
}

TEST_F(Alignment, aStopBeforeTheStartKeepsEverythingStill) {
  loop().stop();
  EXPECT_EQ(loop().run().status, ServoStatus::kStopped);
  EXPECT_EQ(stage.count("APS"), 0U);
}

TEST_F(Alignment, stopsWhenTheVitalsFail) {
  stage.setSpeed(200);
  std::atomic<bool> dead{false};
  vitals = [&]() -> const char* { return dead.load() ? "the event loop is silent" : nullptr; };
  AlignmentLoop& running = loop();
  std::thread killer([&] {
    while (stage.count("APS") < 3) std::this_thread::sleep_for(1ms);
    dead = true;
  });
  const AlignmentReport report = running.run();
  killer.join();
  EXPECT_EQ(report.status, ServoStatus::kStopped);
  EXPECT_EQ(report.detail, "the event loop is silent");
  EXPECT_FALSE(anyDriving());
}

TEST_F(Alignment, endsWhenAViewIsBlindOrSilent) {
  loop();
  eyes[1]->blind = true;
  const AlignmentReport lost = loop().run();
  EXPECT_EQ(lost.status, ServoStatus::kNeedleLost);
  EXPECT_NE(lost.detail.find("view 2"), std::string::npos);
  EXPECT_EQ(eyes[1]->looks.load(), options.lostLooks);
  EXPECT_EQ(stage.count("APS"), 0U);
}

TEST_F(Alignment, endsWhenFramesStop) {
  options.frameTimeoutS = 0.1;
  loop();
  eyes[0]->silent = true;
  EXPECT_EQ(loop().run().status, ServoStatus::kFrames);
}

TEST_F(Alignment, endsOnAControllerThatRefusesOrGoesAway) {
  stage.refuseMoves = 310;
  const AlignmentReport refused = loop().run();
  EXPECT_EQ(refused.status, ServoStatus::kLink);
  EXPECT_NE(refused.detail.find("310"), std::string::npos);
}

TEST_F(Alignment, endsWhenTheConnectionBreaks) {
  stage.setSpeed(200);
  AlignmentLoop& running = loop();
  std::thread breaker([&] {
    while (stage.count("APS") < 1) std::this_thread::sleep_for(1ms);
    stage.dropClients();
  });
  const AlignmentReport report = running.run();
  breaker.join();
  EXPECT_EQ(report.status, ServoStatus::kLink) << report.detail;
}

TEST_F(Alignment, endsOnTheEmergencyInput) {
  stage.setSpeed(200);
  AlignmentLoop& running = loop();
  std::thread presser([&] {
    while (stage.count("APS") < 3) std::this_thread::sleep_for(1ms);
    stage.broadcast("E\tSYS\t5");
  });
  const AlignmentReport report = running.run();
  presser.join();
  EXPECT_EQ(report.status, ServoStatus::kStopped);
  EXPECT_NE(report.detail.find("emergency"), std::string::npos);
}

TEST_F(Alignment, endsInTime) {
  stage.setSpeed(20);
  options.timeoutS = 0.2;
  const AlignmentReport report = loop().run();
  EXPECT_EQ(report.status, ServoStatus::kTimeout);
  EXPECT_FALSE(anyDriving());
}

}  // namespace
}  // namespace surgiclaw::servo
