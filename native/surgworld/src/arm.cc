#include "surgiclaw/surgworld/arm.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace surgiclaw::surgworld {
namespace {

// A tool of 0.4 kg that follows a target within a control step: 110 rad/s, critically damped.
constexpr double kToolMass = 0.36;
constexpr double kJawMass = 0.02;
constexpr double kStiffness = 4840;
constexpr double kDamping = 88;
// At most 0.5 m/s, 2.5 mm a time step: a faster pad would go through a thin wall.
constexpr double kJawStiffness = 600;
constexpr double kJawDamping = 12;
/// What one jaw presses with at most, N.
constexpr double kJawForce = 6;
constexpr double kTurnInertia = 2e-3;
constexpr double kTurnStiffness = 24;
constexpr double kTurnDamping = 0.44;
/// To either side, rad.
constexpr double kLongestTurn = 2.4;
/// The target runs ahead of a blocked tip by so many steps at most.
constexpr double kLeashSteps = 1.6;

}  // namespace

std::string Arm::bodies(const ArmSpec& spec) {
  std::ostringstream out;
  const double half = spec.padHeight / 2;
  out << "<body name='tool'>";
  for (const char axis : {'x', 'y', 'z'})
    out << "<joint name='tool_" << axis << "' type='slide' axis='" << (axis == 'x' ? 1 : 0) << ' '
        << (axis == 'y' ? 1 : 0) << ' ' << (axis == 'z' ? 1 : 0) << "' damping='" << kDamping << "'/>";
  if (spec.maxTurn > 0)
    out << "<joint name='tool_turn' type='hinge' axis='0 0 1' damping='" << kTurnDamping << "' armature='"
        << kTurnInertia << "'/>";
  if (spec.opening <= 0) {
    out << spec.tool << "</body>";
    return out.str();
  }
  out << "<geom type='cylinder' fromto='0 0 0.075 0 0 0.6' size='0.012' mass='" << kToolMass * 0.8
      << "' material='shaft' contype='0' conaffinity='0'/>"
      << "<geom type='sphere' pos='0 0 0.07' size='0.015' mass='" << kToolMass * 0.2
      << "' material='steel' contype='0' conaffinity='0'/>"
      << "<geom type='box' pos='0 0 0.06' size='0.009 " << spec.opening + 0.006
      << " 0.006' mass='0.0001' material='steel' contype='0' conaffinity='0'/>";
  for (const bool left : {true, false}) {
    const char* name = left ? "left" : "right";
    out << "<body name='jaw_" << name << "'><joint name='jaw_" << name << "' type='slide' axis='0 "
        << (left ? 1 : -1) << " 0' range='-0.001 " << spec.opening + 0.002 << "' damping='" << kJawDamping
        << "'/><geom name='pad_" << name << "' type='box' pos='0 " << (left ? 0.003 : -0.003) << ' '
        << half - 0.004 << "' size='" << spec.padHalfWidth << " 0.003 " << half << "' mass='" << kJawMass
        << "' material='steel' contype='4' conaffinity='3' friction='1.4 0.02 0.001' condim='4'/>"
        << "<geom type='box' pos='0 " << (left ? 0.0035 : -0.0035) << ' ' << spec.padHeight + 0.006
        << "' size='0.005 0.0025 0.016' mass='0.0001' material='steel' contype='0' conaffinity='0'/></body>";
  }
  out << "</body>";
  return out.str();
}

std::string Arm::actuators(const ArmSpec& spec) {
  std::ostringstream out;
  for (const char axis : {'x', 'y', 'z'})
    out << "<position joint='tool_" << axis << "' kp='" << kStiffness << "'/>";
  if (spec.maxTurn > 0) out << "<position joint='tool_turn' kp='" << kTurnStiffness << "'/>";
  if (spec.opening <= 0) return out.str();
  for (const char* name : {"left", "right"})
    out << "<position joint='jaw_" << name << "' kp='" << kJawStiffness << "' forcerange='" << -kJawForce
        << ' ' << kJawForce << "'/>";
  return out.str();
}

std::string Arm::equalities(const ArmSpec& spec) {
  if (spec.opening <= 0) return {};
  return "<joint joint1='jaw_left' joint2='jaw_right' polycoef='0 1 0 0 0' solref='0.01 1'/>";
}

Arm::Arm(const ArmSpec& spec, Physics& physics) : spec_(spec), body_(physics.body("tool")) {
  const mjModel* model = physics.model();
  slides_ = {physics.joint("tool_x"), physics.joint("tool_y"), physics.joint("tool_z")};
  if (spec.maxTurn > 0) turn_ = physics.joint("tool_turn");
  weight_ = model->body_subtreemass[body_] * -model->opt.gravity[2];
  if (spec.opening <= 0) return;
  jaws_ = {physics.joint("jaw_left"), physics.joint("jaw_right")};
  pads_ = {physics.geom("pad_left"), physics.geom("pad_right")};
}

void Arm::place(Physics& physics, const Eigen::Vector3d& tip) {
  const mjModel* model = physics.model();
  mjData* data = physics.data();
  for (int i = 0; i < 3; i++) data->qpos[model->jnt_qposadr[slides_[i]]] = tip[i];
  for (const int jaw : jaws_)
    if (jaw >= 0) data->qpos[model->jnt_qposadr[jaw]] = spec_.opening;
  from_ = target_ = tip;
  fromYaw_ = targetYaw_ = 0;
  closing_ = false;
  closedOpening_ = 0;
  setPadsSolid(physics, true);
  drive(physics, 1, 1);
}

void Arm::command(const Physics& physics, const float* action) {
  const auto clipped = [&](int i) { return std::clamp(static_cast<double>(action[i]), -1.0, 1.0); };
  from_ = target_;
  const Eigen::Vector3d at = tip(physics);
  const double leash = kLeashSteps * spec_.maxStep;
  for (int i = 0; i < 3; i++) {
    const double wanted = std::clamp(target_[i] + spec_.maxStep * clipped(i), at[i] - leash, at[i] + leash);
    target_[i] = std::clamp(wanted, spec_.low[i], spec_.high[i]);
  }
  int next = 3;
  if (turn_ >= 0) {
    fromYaw_ = targetYaw_;
    targetYaw_ = std::clamp(targetYaw_ + spec_.maxTurn * clipped(next++), -kLongestTurn, kLongestTurn);
  }
  closing_ = spec_.opening > 0 && clipped(next) < 0;
}

void Arm::drive(Physics& physics, double share, double durationS) const {
  mjData* data = physics.data();
  mjtNum* control = data->ctrl;
  // The joints' damping is paid for in advance, so that the tip does not lag behind a moving target.
  const Eigen::Vector3d rate = (target_ - from_) / durationS;
  for (int i = 0; i < 3; i++)
    *control++ = from_[i] + share * (target_[i] - from_[i]) + rate[i] * kDamping / kStiffness;
  if (turn_ >= 0)
    *control++ = fromYaw_ + share * (targetYaw_ - fromYaw_) +
                 (targetYaw_ - fromYaw_) / durationS * kTurnDamping / kTurnStiffness;
  if (spec_.opening > 0) {
    // Closing past the middle is what presses.
    const double jaw = !closing_ ? spec_.opening : closedOpening_ > 0 ? closedOpening_ : -0.03;
    *control++ = jaw;
    *control++ = jaw;
  }
  data->qfrc_applied[physics.model()->jnt_dofadr[slides_[2]]] = weight_;
}

Eigen::Vector3d Arm::velocity(const Physics& physics) const {
  const int at = physics.model()->jnt_dofadr[slides_[0]];
  return Eigen::Map<const Eigen::Vector3d>(physics.data()->qvel + at);
}

double Arm::yaw(const Physics& physics) const {
  return turn_ < 0 ? 0 : physics.data()->qpos[physics.model()->jnt_qposadr[turn_]];
}

double Arm::opening(const Physics& physics) const {
  const mjModel* model = physics.model();
  const mjtNum* q = physics.data()->qpos;
  return (q[model->jnt_qposadr[jaws_[0]]] + q[model->jnt_qposadr[jaws_[1]]]) / 2;
}

bool Arm::pinches(const Physics& physics, int body) const {
  return physics.touchingBody(pads_[0], body) && physics.touchingBody(pads_[1], body);
}

void Arm::setPadsSolid(Physics& physics, bool solid) const {
  for (const int pad : pads_)
    if (pad >= 0) physics.model()->geom_conaffinity[pad] = solid ? 3 : 1;
}

}  // namespace surgiclaw::surgworld
