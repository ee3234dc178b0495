#include "surgiclaw/envelope/arm_envelope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace surgiclaw::envelope {
namespace {

/// rad and m travel as multiples of 1e-8; speeds, accelerations and blends as multiples of 1e-6.
constexpr double kFine = 1e8;
constexpr double kCoarse = 1e6;
constexpr double kPi = 3.14159265358979323846;
/// Of a limit: values come out of sums and products of doubles.
constexpr double kSlack = 1 + 1e-9;

Refusal within(double value, double limit, const std::string& what) {
  if (value > 0 && value <= limit * kSlack) return {};
  return beyondEnvelope(what + " " + shown(value) + " lies outside 0…" + shown(limit));
}

double between(const Six& a, const Six& b) { return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }

/// Nothing when the field cannot hold it: it would come out as another number.
std::optional<int32_t> wire(double value, double scale) {
  const double scaled = std::round(value * scale);
  if (!(scaled >= std::numeric_limits<int32_t>::min() && scaled <= std::numeric_limits<int32_t>::max())) {
    return std::nullopt;
  }
  return static_cast<int32_t>(scaled);
}

}  // namespace

void ArmEnvelope::standsAt(const Six& joints, const Six& pose) {
  lastJoints_ = joints;
  lastPose_ = pose;
}

Refusal ArmEnvelope::joints(const ArmCommand& command) const {
  if (!lastJoints_) return beyondEnvelope("the joints' last setpoint is unknown");
  for (size_t i = 0; i < 6; ++i) {
    const std::string joint = "joint " + std::to_string(i);
    const double value = command.values[i];
    if (!(value >= limits_.lower[i] && value <= limits_.upper[i])) {
      return beyondEnvelope(joint + " at " + shown(value) + " rad is outside " + shown(limits_.lower[i]) +
                            "…" + shown(limits_.upper[i]));
    }
    const double step = std::abs(value - (*lastJoints_)[i]);
    if (!(step <= limits_.maxJointStep * kSlack)) {
      return beyondEnvelope(joint + " would move " + shown(step) + " rad in one command, above " +
                            shown(limits_.maxJointStep));
    }
  }
  if (Refusal refusal = within(command.speed, limits_.maxJointSpeed, "joint speed in rad/s")) return refusal;
  return within(command.acceleration, limits_.maxJointAcceleration, "joint acceleration in rad/s²");
}

Refusal ArmEnvelope::linear(const ArmCommand& command) const {
  if (!lastPose_) return beyondEnvelope("the flange's last setpoint is unknown");
  const double step = between(command.values, *lastPose_);
  if (!(step <= limits_.maxLinearStep * kSlack)) {
    return beyondEnvelope("the flange would move " + shown(step) + " m in one command, above " +
                          shown(limits_.maxLinearStep));
  }
  const double turn = std::hypot(command.values[3], command.values[4], command.values[5]);
  if (!(turn <= kPi * (1 + 1e-6))) {
    return beyondEnvelope("a rotation vector of " + shown(turn) + " rad, above half a turn");
  }
  if (Refusal refusal = within(command.speed, limits_.maxLinearSpeed, "linear speed in m/s")) return refusal;
  return within(command.acceleration, limits_.maxLinearAcceleration, "linear acceleration in m/s²");
}

Refusal ArmEnvelope::encode(const ArmCommand& command, ArmBytes& bytes) {
  const bool joint = command.kind == ArmCommandKind::kMoveJoints;
  const bool moves = joint || command.kind == ArmCommandKind::kMoveLinear;
  std::array<int32_t, 12> fields{command.timeoutMs, command.sequence, static_cast<int32_t>(command.kind)};
  if (moves) {
    for (const double value : command.values) {
      if (!std::isfinite(value)) return beyondEnvelope("a target of " + shown(value));
    }
    if (Refusal refusal = joint ? joints(command) : linear(command)) return refusal;
    if (!(command.blend >= 0 && command.blend <= limits_.maxBlend)) {
      return beyondEnvelope("a blend radius of " + shown(command.blend) + " m");
    }
    for (size_t i = 0; i < 6; ++i) {
      const std::optional<int32_t> value = wire(command.values[i], kFine);
      if (!value)
        return beyondEnvelope("value " + shown(command.values[i]) + " would wrap around on the wire");
      fields[3 + i] = *value;
    }
    fields[9] = wire(command.speed, kCoarse).value_or(0);
    fields[11] = wire(command.blend, kCoarse).value_or(0);
    if (fields[9] <= 0) return beyondEnvelope("speed " + shown(command.speed) + " would be none on the wire");
  }
  if (moves || command.kind == ArmCommandKind::kStop) {
    fields[10] = wire(command.acceleration, kCoarse).value_or(0);
    if (moves && fields[10] <= 0) {
      return beyondEnvelope("acceleration " + shown(command.acceleration) + " would be none on the wire");
    }
  }
  if (command.kind == ArmCommandKind::kStop) {
    // Wherever it brakes, it is not at its setpoint.
    lastJoints_.reset();
    lastPose_.reset();
  }
  if (moves) {
    lastJoints_ = joint ? std::optional<Six>(command.values) : std::nullopt;
    lastPose_ = joint ? std::nullopt : std::optional<Six>(command.values);
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto bits = static_cast<uint32_t>(fields[i]);
    for (size_t byte = 0; byte < 4; ++byte)
      bytes[4 * i + byte] = static_cast<uint8_t>(bits >> (24 - 8 * byte));
  }
  return {};
}

}  // namespace surgiclaw::envelope
