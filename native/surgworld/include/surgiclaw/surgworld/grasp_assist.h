// The proximity grasp assist, the same for every task that has one and for every method: commanded to close,
// jaws less than 60 % open, the tip within 15 mm (model; 3 mm true) of the thing: it is held, rigidly, as it
// then lies, and pads no longer collide with it. It is let go when the jaws are commanded open, or when it
// has been dragged 12 mm out of place.
#pragma once

#include "surgiclaw/surgworld/arm.h"
#include "surgiclaw/surgworld/physics.h"

namespace surgiclaw::surgworld {

class GraspAssist {
 public:
  static constexpr double kRadius = 0.015;
  static constexpr double kClosedShare = 0.6;
  static constexpr double kDragged = 0.012;

  /// MJCF of the equality that holds a body, rigidly or by one point.
  static std::string weld(const char* body);
  static std::string hinge(const char* body);

  /// @param gripOpening where the jaws come to rest around the thing, from the middle
  GraspAssist(const Physics& physics, const char* body, double gripOpening);

  void reset(Physics& physics);
  /// Before a control step: lets go if the jaws are commanded open.
  void release(Physics& physics, Arm& arm);
  /// After a control step: takes hold, or loses what was dragged away.
  /// @param distance from the tip to where the thing can be grasped
  void settle(Physics& physics, Arm& arm, double distance);
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  void letGo(Physics& physics, Arm& arm);

  int weld_;
  int body_;
  double gripOpening_;
  bool holds_ = false;
  Eigen::Vector3d placeInHand_{0, 0, 0};
};

}  // namespace surgiclaw::surgworld
