// PegTransfer: a square ring of 16 mm sits on the left peg; put it over the right one and let it go. No
// assist: the ring is held by friction between the jaws, which close on one of its walls.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "guidance.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

/// Middle of a wall from the ring's middle, and half of the ring's height.
constexpr double kWall = 0.034;
constexpr double kHalfHeight = 0.014;
constexpr double kPegHeight = 0.034;
constexpr double kPegRadius = 0.006;
/// Sideways, and in height, as in the public suites: 5 and 4 mm.
constexpr double kSideways = 0.025;
constexpr double kSeated = 0.02;
constexpr double kStill = 0.12;
/// How far the lower edge comes above the peg on its way over.
constexpr double kOver = 0.006;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  std::ostringstream out;
  for (const char* peg : {"first", "other"})
    out << "<body name='" << peg << "' mocap='true'><geom type='capsule' fromto='0 0 0 0 0 "
        << kPegHeight - kPegRadius << "' size='" << kPegRadius << "' material='white'" << kFixed
        << "/><geom type='cylinder' size='0.02 0.001' pos='0 0 0.001' material='dark'" << kVisual
        << "/></body>";
  out << "<body name='ring'><freejoint/>";
  constexpr std::array<std::array<double, 4>, 4> kWalls{{{kWall, 0, 0.004, 0.038},
                                                         {-kWall, 0, 0.004, 0.038},
                                                         {0, kWall, 0.03, 0.004},
                                                         {0, -kWall, 0.03, 0.004}}};
  for (const auto& [x, y, halfX, halfY] : kWalls)
    out << "<geom type='box' pos='" << x << ' ' << y << " 0' size='" << halfX << ' ' << halfY << ' '
        << kHalfHeight << "' mass='0.01' material='yellow' condim='4' friction='1.4 0.02 0.001'" << kLoose
        << "/>";
  out << "</body>";
  text.bodies = out.str();
  text.option = "cone='elliptic' impratio='4' solver='Newton' iterations='12' tolerance='1e-6'";
  return sceneMjcf(task, text);
}

class PegTransfer : public Task {
 public:
  explicit PegTransfer(const Physics& physics)
      : ring_(physics.body("ring")), first_(physics.body("first")), other_(physics.body("other")) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    const double firstX = random.uniform(-0.11, -0.07);
    const double firstY = random.uniform(-0.05, 0.05);
    const double otherX = random.uniform(0.07, 0.11);
    const double otherY = random.uniform(-0.05, 0.05);
    physics.fix(first_, {firstX, firstY, 0});
    physics.fix(other_, {otherX, otherY, 0});
    const double x = firstX + random.uniform(-0.008, 0.008);
    const double y = firstY + random.uniform(-0.008, 0.008);
    physics.place(
        ring_, {x, y, kHalfHeight},
        Eigen::Quaterniond(Eigen::AngleAxisd(random.uniform(-0.15, 0.15), Eigen::Vector3d::UnitZ())));
    const double tipX = random.uniform(-0.12, 0.02);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.10, 0.15)};
  }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d ring = physics.position(ring_);
    out.length(ring);
    out.length(wall(physics, arm) - arm.tip(physics));
    out.length(physics.position(other_) - ring);
    out.length(physics.position(first_) - ring);
    out.vector(physics.velocity(ring_));
    out.vector(physics.orientation(ring_) * Eigen::Vector3d::UnitX());
    out.vector(physics.orientation(ring_) * Eigen::Vector3d::UnitZ());
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d ring = physics.position(ring_);
    const double besideOther = (ring - physics.position(other_)).head<2>().norm();
    const bool open = arm.opening(physics) > 0.8 * arm.spec().opening;
    if (besideOther < kSideways && std::abs(ring.z() - kHalfHeight) < kSeated && !arm.closing() && open &&
        physics.velocity(ring_).norm() < kStill)
      return 5;
    if (arm.pinches(physics, ring_)) {
      const bool lifted = ring.z() - kHalfHeight > kPegHeight;
      if (lifted) return besideOther < 2 * kWall ? 4 : 3;
      return 2;
    }
    return reach(physics, arm) < 2 * kWall ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d ring = physics.position(ring_);
    const Eigen::Vector3d way = physics.position(other_) - ring;
    const double beside = way.head<2>().norm();
    const double height = ring.z() - kHalfHeight;
    const bool held = arm.pinches(physics, ring_);
    if (beside < kSideways && height < kPegHeight) return held ? 0.92 : 0.96;
    if (!held) return 0.7 * guidanceToGrasp(reach(physics, arm), arm.opening(physics) / arm.spec().opening);
    const double lifted = std::clamp(height / (kPegHeight + kOver), 0.0, 1.0);
    const double over = 1 - std::min(1.0, beside / 0.3);
    // Carrying counts only above the pegs, going down only over the other one.
    return 0.4 + 0.2 * lifted + 0.2 * over * (lifted > 0.8 ? 1 : 0.2) +
           (beside < kSideways ? 0.1 * (1 - std::clamp(height / 0.08, 0.0, 1.0)) : 0);
  }

 private:
  /// The middle of that wall along y which is nearer to the tip: jaws close along y.
  [[nodiscard]] Eigen::Vector3d wall(const Physics& physics, const Arm& arm) const {
    const Eigen::Vector3d ring = physics.position(ring_);
    const Eigen::Vector3d across = physics.orientation(ring_) * Eigen::Vector3d(0, kWall, 0);
    const Eigen::Vector3d tip = arm.tip(physics);
    return (tip - ring).dot(across) >= 0 ? Eigen::Vector3d(ring + across) : Eigen::Vector3d(ring - across);
  }
  [[nodiscard]] double reach(const Physics& physics, const Arm& arm) const {
    return (wall(physics, arm) - arm.tip(physics)).norm();
  }

  int ring_;
  int first_;
  int other_;
};

}  // namespace

TaskDefinition pegTransfer() {
  TaskDefinition task{};
  task.name = "PegTransfer";
  task.arm.opening = 0.014;
  task.observed = 21;
  task.phases = 6;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<PegTransfer>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
