#include "surgiclaw/surgworld/grasp_assist.h"

namespace surgiclaw::surgworld {

std::string GraspAssist::weld(const char* body) {
  return std::string("<weld name='held' body1='tool' body2='") + body +
         "' active='false' solref='0.01 1' solimp='0.95 0.99 0.001'/>";
}

std::string GraspAssist::hinge(const char* body) {
  return std::string("<connect name='held' body1='tool' body2='") + body +
         "' anchor='0 0 0' active='false' solref='0.01 1' solimp='0.95 0.99 0.001'/>";
}

GraspAssist::GraspAssist(const Physics& physics, const char* body, double gripOpening)
    : weld_(physics.equality("held")), body_(physics.body(body)), gripOpening_(gripOpening) {}

void GraspAssist::reset(Physics& physics) {
  holds_ = false;
  physics.model()->eq_active[weld_] = 0;
}

void GraspAssist::release(Physics& physics, Arm& arm) {
  if (holds_ && !arm.closing()) letGo(physics, arm);
}

void GraspAssist::settle(Physics& physics, Arm& arm, double distance) {
  const Eigen::Quaterniond hand = physics.orientation(arm.body());
  const Eigen::Vector3d place = hand.conjugate() * (physics.position(body_) - arm.tip(physics));
  if (holds_) {
    if ((place - placeInHand_).norm() > kDragged) letGo(physics, arm);
    return;
  }
  if (!arm.closing() || distance > kRadius || arm.opening(physics) > kClosedShare * arm.spec().opening)
    return;
  placeInHand_ = place;
  const Eigen::Quaterniond turned = hand.conjugate() * physics.orientation(body_);
  mjtNum* values = physics.model()->eq_data + mjNEQDATA * weld_;
  // A connect has its anchor in the tool and in the body; a weld in the body and, with the orientation, in
  // the tool.
  const bool rigid = physics.model()->eq_type[weld_] == mjEQ_WELD;
  for (int i = 0; i < 3; i++) {
    values[i] = rigid ? 0 : place[i];
    values[3 + i] = rigid ? place[i] : 0;
  }
  if (rigid) {
    values[6] = turned.w();
    values[7] = turned.x();
    values[8] = turned.y();
    values[9] = turned.z();
  }
  physics.model()->eq_active[weld_] = 1;
  holds_ = true;
  arm.setPadsSolid(physics, false);
  arm.closeTo(gripOpening_);
}

void GraspAssist::letGo(Physics& physics, Arm& arm) {
  reset(physics);
  arm.setPadsSolid(physics, true);
  arm.closeTo(0);
}

}  // namespace surgiclaw::surgworld
