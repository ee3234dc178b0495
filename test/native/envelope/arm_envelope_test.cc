#include "surgiclaw/envelope/arm_envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace surgiclaw::envelope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Six kJoints = {1, -1.5, 1.5, -1.6, -1.5, 0};
const Six kPose = {0.3, 0.1, 0.2, 0, 3.0, 0};

ArmLimits limits() {
  ArmLimits made;
  made.lower.fill(-6.28);
  made.upper.fill(6.28);
  made.maxJointStep = 1.57;
  made.maxJointSpeed = 1.05;
  made.maxJointAcceleration = 3;
  made.maxLinearStep = 0.4;
  made.maxLinearSpeed = 0.25;
  made.maxLinearAcceleration = 1.2;
  made.maxBlend = 0.2;
  return made;
}

ArmCommand command(ArmCommandKind kind) {
  ArmCommand made;
  made.timeoutMs = 250;
  made.sequence = 7;
  made.kind = kind;
  made.values = kind == ArmCommandKind::kMoveJoints ? kJoints : kPose;
  made.speed = 0.2;
  made.acceleration = 1;
  return made;
}

/// The field at `index` of the message, big-endian, as the controller reads it.
int32_t field(const ArmBytes& bytes, size_t index) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | bytes[4 * index + i];
  return static_cast<int32_t>(value);
}

std::string code(const Refusal& refusal) { return refusal ? refusal.code : ""; }

class Arm : public ::testing::Test {
 protected:
  Arm() { envelope_.standsAt(kJoints, kPose); }
  std::string encode(const ArmCommand& one) {
    bytes_.fill(0xAA);
    return code(envelope_.encode(one, bytes_));
  }
  ArmEnvelope envelope_{limits()};
  ArmBytes bytes_{};
};

TEST_F(Arm, makesTheBytesOfAMove) {
  ArmCommand move = command(ArmCommandKind::kMoveJoints);
  move.values[1] = -1.25;
  move.blend = 0.01;
  ASSERT_EQ(encode(move), "");
  EXPECT_EQ(field(bytes_, 0), 250);
  EXPECT_EQ(field(bytes_, 1), 7);
  EXPECT_EQ(field(bytes_, 2), 1);
  EXPECT_EQ(field(bytes_, 3), 100000000);
  EXPECT_EQ(field(bytes_, 4), -125000000);
  EXPECT_EQ(field(bytes_, 9), 200000);
  EXPECT_EQ(field(bytes_, 10), 1000000);
  EXPECT_EQ(field(bytes_, 11), 10000);
}

TEST_F(Arm, refusesWhatIsNoNumberInAnyField) {
  for (const double wrong : {std::nan(""), kInfinity, -kInfinity}) {
    for (const auto kind : {ArmCommandKind::kMoveJoints, ArmCommandKind::kMoveLinear}) {
      for (size_t i = 0; i < 6; ++i) {
        ArmCommand move = command(kind);
        move.values[i] = wrong;
        EXPECT_EQ(encode(move), "SAFETY_ENVELOPE") << i;
      }
      for (double ArmCommand::*member : {&ArmCommand::speed, &ArmCommand::acceleration, &ArmCommand::blend}) {
        ArmCommand move = command(kind);
        move.*member = wrong;
        EXPECT_EQ(encode(move), "SAFETY_ENVELOPE");
      }
      EXPECT_EQ(bytes_[0], 0xAA) << "nothing was written";
    }
  }
}

TEST_F(Arm, refusesOtherUnitsAndWhatWouldWrapAround) {
  for (const double factor : {1e3, -1e3, 180 / 3.14159265}) {
    ArmCommand joints = command(ArmCommandKind::kMoveJoints);
    joints.values[0] *= factor;
    EXPECT_EQ(encode(joints), "SAFETY_ENVELOPE") << factor;
    ArmCommand linear = command(ArmCommandKind::kMoveLinear);
    linear.values[0] *= factor;
    EXPECT_EQ(encode(linear), "SAFETY_ENVELOPE") << factor;
    linear = command(ArmCommandKind::kMoveLinear);
    linear.values[4] *= factor;
    EXPECT_EQ(encode(linear), "SAFETY_ENVELOPE") << factor;
  }
  ArmCommand wrapped = command(ArmCommandKind::kMoveJoints);
  wrapped.values[0] += 4294967296.0 / 1e8;
  EXPECT_EQ(encode(wrapped), "SAFETY_ENVELOPE");
  for (const double speed : {0.0, -0.1, 1.06, 200.0, 4294.967296 + 0.2, 1e-8}) {
    ArmCommand move = command(ArmCommandKind::kMoveJoints);
    move.speed = speed;
    EXPECT_EQ(encode(move), "SAFETY_ENVELOPE") << speed;
  }
}

TEST_F(Arm, aStepIsMeasuredFromTheLastSetpoint) {
  ArmCommand move = command(ArmCommandKind::kMoveJoints);
  move.values[0] = 1 + 1.5;
  EXPECT_EQ(encode(move), "");
  move.values[0] = 1 + 3;
  EXPECT_EQ(encode(move), "");
  move.values[0] = 1 + 3 + 1.6;
  EXPECT_EQ(encode(move), "SAFETY_ENVELOPE");
  // Where the flange went by joints is not known here.
  EXPECT_EQ(encode(command(ArmCommandKind::kMoveLinear)), "SAFETY_ENVELOPE");
}

TEST_F(Arm, aStopIsNeverRefusedAndForgetsTheSetpoint) {
  ArmCommand stop;
  stop.kind = ArmCommandKind::kStop;
  stop.acceleration = 5;
  ASSERT_EQ(encode(stop), "");
  EXPECT_EQ(field(bytes_, 2), 3);
  EXPECT_EQ(field(bytes_, 10), 5000000);
  stop.acceleration = std::nan("");
  ASSERT_EQ(encode(stop), "");
  EXPECT_EQ(field(bytes_, 10), 0) << "the program brakes with its own";
  EXPECT_EQ(encode(command(ArmCommandKind::kMoveJoints)), "SAFETY_ENVELOPE");
}

TEST(ArmEnvelope, refusesToMoveFromAnUnknownPlace) {
  ArmEnvelope envelope(limits());
  ArmBytes bytes{};
  EXPECT_EQ(code(envelope.encode(command(ArmCommandKind::kMoveJoints), bytes)), "SAFETY_ENVELOPE");
  envelope.standsAt({std::nan(""), 0, 0, 0, 0, 0}, kPose);
  EXPECT_EQ(code(envelope.encode(command(ArmCommandKind::kMoveJoints), bytes)), "SAFETY_ENVELOPE");
}

}  // namespace
}  // namespace surgiclaw::envelope
