// LoopPickup: the hooked needle takes the loop of an electrode from its cartridge. Geometry of the reference
// cell (calibration/reference-cell.yaml) at one model metre to the millimetre: a ring of 16 x 50 um inside,
// of 5 um wire, that stands in the plane y-z and opens along x; a barb 40 um above the tip that reaches 40 um
// along x. z is up, against the cell's z toward the tissue. The ring's nominal home is the point (0, 0,
// 0.07).
//
// Forces keep the order of the twin's (peel < slip < tear) and its ratios: 1 here is 1 mN there. Barb and
// wire collide; adhesive and thread are springs.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kHome = 0.07;
constexpr double kInnerY = 0.016;
constexpr double kInnerZ = 0.05;
constexpr double kWire = 0.005;
constexpr double kHookHeight = 0.04;
constexpr double kHookReach = 0.04;
constexpr double kHookThickness = 0.008;
constexpr double kTipRadius = 0.012;
/// Stiffness of adhesive and thread on the cartridge, and where the adhesive lets go: 30 N/m and 0.45 mN are
/// 15 um.
constexpr double kAdhesive = 30;
constexpr double kPeel = 0.45;
constexpr double kThreadTension = 0.1;
constexpr double kThreadDrag = 0.02;
constexpr double kClear = 0.08;
constexpr double kStill = 0.06;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  std::ostringstream out;
  out << "<body name='cartridge' mocap='true'><geom type='box' pos='0 0.03 -0.035' size='0.12 0.06 0.035' "
         "material='white'"
      << kFixed << "/><site name='anchor' pos='0 0 0' size='0.001' rgba='0 0 0 0'/></body>"
      << "<body name='loop'><joint type='free' armature='1e-5' damping='1e-4'/>";
  constexpr double kHalf = kWire / 2;
  constexpr double kY = kInnerY / 2 + kHalf;
  constexpr double kZ = kInnerZ / 2 + kHalf;
  const std::array<std::array<double, 4>, 4> sides{{{kY, 0, kHalf, kInnerZ / 2 + kWire},
                                                    {-kY, 0, kHalf, kInnerZ / 2 + kWire},
                                                    {0, kZ, kInnerY / 2, kHalf},
                                                    {0, -kZ, kInnerY / 2, kHalf}}};
  for (const auto& [y, z, halfY, halfZ] : sides)
    out << "<geom type='box' pos='0 " << y << ' ' << z << "' size='" << kHalf << ' ' << halfY << ' ' << halfZ
        << "' mass='0.005' material='yellow' friction='0.6 0.001 0.001'" << kLoose << "/>";
  out << "<site name='neck' pos='0 0 " << -kZ << "' size='0.001' rgba='0 0 0 0'/></body>";
  text.bodies = out.str();
  text.sections =
      "<tendon><spatial width='0.004' rgba='0.93 0.75 0.15 1'><site site='neck'/><site "
      "site='anchor'/></spatial></tendon>";
  text.option = "gravity='0 0 0' cone='pyramidal' solver='Newton' iterations='20'";
  return sceneMjcf(task, text);
}

/// The needle: tip at the origin, barb along x.
std::string tool() {
  std::ostringstream out;
  out << "<geom name='tip' type='capsule' fromto='0 0 " << kTipRadius << " 0 0 0.15' size='" << kTipRadius
      << "' mass='0.1' material='steel' contype='4' conaffinity='3'/>"
      << "<geom type='capsule' fromto='0 0 0.16 0 0 0.6' size='0.02' mass='0.25' material='shaft'" << kVisual
      << "/>"
      << "<geom name='barb' type='box' pos='" << kHookReach / 2 << " 0 " << kHookHeight << "' size='"
      << kHookReach / 2 << ' ' << kHookThickness / 2 << ' ' << kHookThickness / 2
      << "' mass='0.01' material='steel' contype='4' conaffinity='3' friction='0.6 0.001 0.001'/>";
  return out.str();
}

class LoopPickup : public Task {
 public:
  explicit LoopPickup(const Physics& physics)
      : loop_(physics.body("loop")), cartridge_(physics.body("cartridge")) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    // Where the drawing and the measured place of the loop disagree.
    const double x = random.uniform(-0.03, 0.03);
    const double y = random.uniform(-0.03, 0.03);
    home_ = {x, y, kHome + random.uniform(-0.02, 0.02)};
    physics.place(loop_, home_, Eigen::Quaterniond::Identity());
    physics.fix(cartridge_, home_ - Eigen::Vector3d(0, 0, 0.064));
    stuck_ = true;
    const double tipX = home_.x() - random.uniform(0.10, 0.20);
    const double tipY = home_.y() + random.uniform(-0.06, 0.06);
    return {tipX, tipY, home_.z() - kHookHeight + random.uniform(0.0, 0.08)};
  }

  void beforeSubstep(Physics& physics) override {
    const Eigen::Vector3d away = physics.position(loop_) - home_;
    const Eigen::Vector3d velocity = physics.velocity(loop_);
    const Eigen::Quaterniond turn = physics.orientation(loop_);
    Eigen::Vector3d force;
    // The thread keeps the ring's neck toward the cartridge and its opening along x, stiffly while it is
    // stuck.
    Eigen::Vector3d upright = turn * Eigen::Vector3d::UnitZ();
    Eigen::Vector3d ahead = turn * Eigen::Vector3d::UnitX();
    double twist = 4e-3;
    if (stuck_ && kAdhesive * away.norm() > kPeel) stuck_ = false;
    if (stuck_) {
      force = -kAdhesive * away - 0.8 * velocity;
      twist = 4e-2;
    } else {
      force = -kThreadTension * away.normalized() - kThreadDrag * velocity - 0.02 * velocity;
    }
    const Eigen::Vector3d torque =
        twist * (upright.cross(Eigen::Vector3d::UnitZ()) + ahead.cross(Eigen::Vector3d::UnitX()));
    mjtNum* applied = physics.data()->xfrc_applied + 6 * loop_;
    for (int i = 0; i < 3; i++) {
      applied[i] = force[i];
      applied[3 + i] = torque[i];
    }
  }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d ring = physics.position(loop_);
    out.length(ring);
    out.length(ring - barbEnd(physics, arm));
    out.length(ring - home_);
    out.vector(physics.velocity(loop_));
    out.vector(physics.orientation(loop_) * Eigen::Vector3d::UnitX());
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d ring = physics.position(loop_);
    if (threaded(physics, arm)) {
      if (stuck_) return 2;
      const bool clear = (ring - home_).norm() >= kClear && ring.z() - home_.z() > kClear / 2;
      return clear && physics.velocity(loop_).norm() < kStill ? 4 : 3;
    }
    return (ring - barbEnd(physics, arm)).norm() < kInnerZ + 2 * kWire ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d ring = physics.position(loop_);
    if (threaded(physics, arm)) {
      const double raised = std::clamp((ring.z() - home_.z()) / kClear, 0.0, 1.0);
      const double still = raised < 1 ? 0 : 1 - std::tanh(10 * physics.velocity(loop_).norm());
      return 0.5 + 0.35 * raised + 0.15 * still;
    }
    // Before the opening first, then through it: the barb's end should come to stand 0.02 beyond the ring.
    const Eigen::Vector3d way = ring + Eigen::Vector3d(0.02, 0, 0) - barbEnd(physics, arm);
    const double aside = way.tail<2>().norm();
    const double detour = aside > 0.01 && way.x() < 0.025 ? 2 * (0.025 - way.x()) : 0;
    return (stuck_ ? 0.4 : 0.2) * (1 - std::tanh(8 * (way.norm() + detour)));
  }

 private:
  [[nodiscard]] static Eigen::Vector3d barbEnd(const Physics& physics, const Arm& arm) {
    return arm.tip(physics) + Eigen::Vector3d(kHookReach, 0, kHookHeight);
  }

  /// The barb passes through the opening.
  [[nodiscard]] bool threaded(const Physics& physics, const Arm& arm) const {
    const Eigen::Quaterniond back = physics.orientation(loop_).conjugate();
    const Eigen::Vector3d ring = physics.position(loop_);
    const Eigen::Vector3d end = back * (barbEnd(physics, arm) - ring);
    const Eigen::Vector3d root = end - back * Eigen::Vector3d(kHookReach, 0, 0);
    if (!(root.x() < 0 && end.x() > 0)) return false;
    const Eigen::Vector3d crossing = root + (end - root) * (-root.x() / (end.x() - root.x()));
    return std::abs(crossing.y()) < kInnerY / 2 && std::abs(crossing.z()) < kInnerZ / 2;
  }

  int loop_;
  int cartridge_;
  Eigen::Vector3d home_{0, 0, kHome};
  bool stuck_ = true;
};

}  // namespace

TaskDefinition loopPickup() {
  TaskDefinition task{};
  task.name = "LoopPickup";
  task.arm.opening = 0;
  task.arm.maxStep = 0.008;
  task.arm.low = {-0.25, -0.12, 0.01};
  task.arm.high = {0.12, 0.12, 0.26};
  task.arm.tool = tool();
  task.observed = 15;
  task.phases = 5;
  task.metresPerModelMetre = 1e-3;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<LoopPickup>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
