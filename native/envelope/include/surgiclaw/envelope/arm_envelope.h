// What may be written to the control program of the arm. A command is twelve whole numbers in which NaN would
// be a posture like any other, so the judge makes the bytes itself, from the numbers. It keeps the last
// setpoint: a command is a step from there. The message: src/cell/ur/codec/reverse.ts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "surgiclaw/envelope/refusal.h"

namespace surgiclaw::envelope {

using Six = std::array<double, 6>;

/// SI: rad, m, s.
struct ArmLimits {
  Six lower{};
  Six upper{};
  double maxJointStep = 0;
  double maxJointSpeed = 0;
  double maxJointAcceleration = 0;
  double maxLinearStep = 0;
  double maxLinearSpeed = 0;
  double maxLinearAcceleration = 0;
  double maxBlend = 0;
};

enum class ArmCommandKind { kKeepAlive = 0, kMoveJoints = 1, kMoveLinear = 2, kStop = 3, kQuit = 4 };

struct ArmCommand {
  int32_t timeoutMs = 0;
  int32_t sequence = 0;
  ArmCommandKind kind = ArmCommandKind::kKeepAlive;
  /// Joint angles, or the flange's position and rotation vector in the base frame.
  Six values{};
  double speed = 0;
  double acceleration = 0;
  double blend = 0;
};

using ArmBytes = std::array<uint8_t, 48>;

class ArmEnvelope {
 public:
  explicit ArmEnvelope(const ArmLimits& limits) : limits_(limits) {}

  /// Where the arm stands before a motion: the first setpoint, as joint angles and as a pose of the flange.
  void standsAt(const Six& joints, const Six& pose);

  /// The bytes of a command, big-endian; filled only when nothing was refused. A move becomes the last
  /// setpoint. What moves nothing is never refused: a stop with a deceleration that is none brakes with the
  /// program's own.
  Refusal encode(const ArmCommand& command, ArmBytes& bytes);

 private:
  Refusal joints(const ArmCommand& command) const;
  Refusal linear(const ArmCommand& command) const;

  ArmLimits limits_;
  /// Unknown after a stop, or a move of the other kind, until the arm stands again.
  std::optional<Six> lastJoints_;
  std::optional<Six> lastPose_;
};

}  // namespace surgiclaw::envelope
