// The patient-side arm of all tasks: the tip of an instrument that moves along x, y and z (in some tasks it
// also turns about z) and has two jaws that close along its y. The tip is the point between the jaws, 4 mm
// above their ends.
#pragma once

#include <Eigen/Core>
#include <array>
#include <string>

#include "surgiclaw/surgworld/physics.h"
#include "surgiclaw/surgworld/random.h"

namespace surgiclaw::surgworld {

/// What differs between tasks. Lengths in model metres.
struct ArmSpec {
  /// The longest way of one control step along each axis.
  double maxStep = 0.02;
  /// How far each jaw opens from the middle; 0 for a tool without jaws.
  double opening = 0.032;
  /// Turning in one control step, rad; 0 for a tool that does not turn.
  double maxTurn = 0;
  Eigen::Vector3d low{-0.22, -0.18, 0.005};
  Eigen::Vector3d high{0.22, 0.18, 0.26};
  /// Half width, height of the jaws' pads.
  double padHalfWidth = 0.008;
  double padHeight = 0.036;

  /// MJCF of what hangs on the joints of a tool without jaws.
  std::string tool;

  [[nodiscard]] int actionSize() const { return 3 + (maxTurn > 0 ? 1 : 0) + (opening > 0 ? 1 : 0); }
};

class Arm {
 public:
  /// MJCF of the tool's body, of its actuators, and of what makes its jaws move alike.
  static std::string bodies(const ArmSpec& spec);
  static std::string actuators(const ArmSpec& spec);
  static std::string equalities(const ArmSpec& spec);

  Arm(const ArmSpec& spec, Physics& physics);

  /// Puts the tip somewhere, at rest, jaws open.
  void place(Physics& physics, const Eigen::Vector3d& tip);
  /// Takes one action: x, y, z, then turn and jaws where the tool has them, each clipped to [-1, 1]. A
  /// negative value for the jaws closes them.
  void command(const Physics& physics, const float* action);
  /// Sets the actuators for the share (0 to 1] of the control step that has passed, of `durationS`.
  void drive(Physics& physics, double share, double durationS) const;

  [[nodiscard]] const ArmSpec& spec() const { return spec_; }
  [[nodiscard]] Eigen::Vector3d tip(const Physics& physics) const { return physics.position(body_); }
  [[nodiscard]] Eigen::Vector3d velocity(const Physics& physics) const;
  [[nodiscard]] double yaw(const Physics& physics) const;
  /// Mean distance of the jaws' faces from the middle.
  [[nodiscard]] double opening(const Physics& physics) const;
  [[nodiscard]] bool closing() const { return closing_; }
  [[nodiscard]] int body() const { return body_; }
  [[nodiscard]] int leftPad() const { return pads_[0]; }
  [[nodiscard]] int rightPad() const { return pads_[1]; }
  /// Both pads touch the body.
  [[nodiscard]] bool pinches(const Physics& physics, int body) const;
  /// The jaws stop here when they close; 0 to press on whatever is between them.
  void closeTo(double opening) { closedOpening_ = opening; }
  /// Whether the pads collide with loose things.
  void setPadsSolid(Physics& physics, bool solid) const;

 private:
  ArmSpec spec_;
  int body_;
  std::array<int, 3> slides_{};
  int turn_ = -1;
  std::array<int, 2> jaws_{-1, -1};
  std::array<int, 2> pads_{-1, -1};
  double weight_ = 0;
  double closedOpening_ = 0;
  bool closing_ = false;
  Eigen::Vector3d from_{0, 0, 0};
  Eigen::Vector3d target_{0, 0, 0};
  double fromYaw_ = 0;
  double targetYaw_ = 0;
};

}  // namespace surgiclaw::surgworld
