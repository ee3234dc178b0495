// NeedleReorient: pick a needle up and turn it until its point looks along a marked direction. Here the tool
// turns about z too, and the assist holds the needle.
#include <algorithm>
#include <cmath>

#include "guidance.h"
#include "needle.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kLift = 0.04;
constexpr double kClear = 0.004;
constexpr double kStill = 0.12;
/// A quarter of a right angle, and along the mark.
constexpr double kTurned = M_PI / 8;
constexpr double kAlong = 0.12;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  text.bodies =
      std::string("<geom type='box' pos='0 0 -0.0049' size='0.17 0.14 0.005' material='pink'") + kVisual +
      "/><body name='mark' mocap='true'><geom type='box' pos='0.03 0 0.001' size='0.03 0.003 0.0008' "
      "material='green'" +
      kVisual + "/><geom type='box' pos='0.055 0 0.0012' size='0.005 0.009 0.0008' material='green'" +
      kVisual + "/></body>" + Needle::bodies();
  text.equalities = GraspAssist::weld("needle");
  return sceneMjcf(task, text);
}

class NeedleReorient : public Task {
 public:
  explicit NeedleReorient(const Physics& physics)
      : needle_(physics), mark_(physics.body("mark")), assist_(physics, "needle", Needle::kThickness) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.09, 0.0);
    const double y = random.uniform(-0.07, 0.07);
    const double yaw = random.uniform(-M_PI, M_PI);
    needle_.lay(physics, x, y, yaw);
    // The point looks a quarter turn and half of the arc on from the body's x; the mark is off by 30 to 75
    // degrees.
    const double side = random.uniform(0, 1) < 0.5 ? -1 : 1;
    const double wanted = yaw + M_PI / 2 + Needle::kHalfAngle + side * random.uniform(0.52, 1.31);
    direction_ = {std::cos(wanted), std::sin(wanted), 0};
    physics.fix(mark_, {0.11, random.uniform(-0.06, 0.06), 0}, wanted);
    const double tipX = random.uniform(-0.10, 0.10);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.12, 0.18)};
  }

  void beforeStep(Physics& physics, Arm& arm) override { assist_.release(physics, arm); }
  void afterStep(Physics& physics, Arm& arm) override {
    assist_.settle(physics, arm, needle_.distance(physics, arm.tip(physics)));
  }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d middle = physics.position(needle_.body());
    out.length(middle);
    out.length(middle - arm.tip(physics));
    out.vector(physics.velocity(needle_.body()));
    out.vector(needle_.heading(physics));
    out.vector(physics.orientation(needle_.body()) * Eigen::Vector3d::UnitZ());
    out.vector(direction_);
    out.number(signedAngle(physics));
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const double reach = needle_.distance(physics, arm.tip(physics));
    if (!assist_.holds()) return arm.pinches(physics, needle_.body()) ? 2 : reach < Needle::kChord ? 1 : 0;
    const double height = needle_.clearance(physics);
    if (height <= kClear) return 2;
    const double off = std::abs(signedAngle(physics));
    if (off < kAlong && height >= kLift && physics.velocity(needle_.body()).norm() < kStill) return 5;
    return off < kTurned ? 4 : 3;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    if (!assist_.holds())
      return guidanceToGrasp(needle_.distance(physics, arm.tip(physics)),
                             arm.opening(physics) / arm.spec().opening);
    const double height = std::clamp(needle_.clearance(physics) / kLift, 0.0, 1.0);
    return 0.55 + 0.15 * height + 0.3 * (1 - std::min(1.0, std::abs(signedAngle(physics)) / M_PI));
  }

 private:
  /// How far the needle has to turn about z, rad.
  [[nodiscard]] double signedAngle(const Physics& physics) const {
    const Eigen::Vector3d heading = needle_.heading(physics);
    return std::atan2(heading.cross(direction_).z(), heading.dot(direction_));
  }

  Needle needle_;
  int mark_;
  GraspAssist assist_;
  Eigen::Vector3d direction_{1, 0, 0};
};

}  // namespace

TaskDefinition needleReorient() {
  TaskDefinition task{};
  task.name = "NeedleReorient";
  task.arm.maxTurn = 0.12;
  task.observed = 19;
  task.phases = 6;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<NeedleReorient>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
