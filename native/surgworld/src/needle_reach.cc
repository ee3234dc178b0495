// NeedleReach: bring the tip to a point 5 mm above the point of a needle. The assist is there as published: a
// tip that closes its jaws on the needle takes it along, and the goal with it stays where it was.
#include <algorithm>
#include <cmath>

#include "needle.h"
#include "surgiclaw/surgworld/grasp_assist.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kAbove = 0.025;
constexpr double kReached = 0.012;
constexpr double kStill = 0.1;
/// Clearly nearer than at the start.
constexpr double kNearer = 0.6;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  text.bodies = std::string("<geom type='box' pos='0 0 -0.0049' size='0.17 0.14 0.005' material='pink'") +
                kVisual +
                "/><body name='goal' mocap='true'><geom type='sphere' size='0.006' rgba='0.1 0.8 0.2 0.6'" +
                kVisual + "/></body>" + Needle::bodies();
  text.equalities = GraspAssist::weld("needle");
  return sceneMjcf(task, text);
}

class NeedleReach : public Task {
 public:
  explicit NeedleReach(const Physics& physics)
      : needle_(physics), mark_(physics.body("goal")), assist_(physics, "needle", Needle::kThickness) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.09, 0.09);
    const double y = random.uniform(-0.07, 0.07);
    const double yaw = random.uniform(-M_PI, M_PI);
    needle_.lay(physics, x, y, yaw);
    const Eigen::Vector3d point =
        Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()) * Needle::onArc(Needle::kHalfAngle);
    goal_ = Eigen::Vector3d(x, y, Needle::kThickness + kAbove) + point;
    physics.fix(mark_, goal_);
    const double tipX = random.uniform(-0.12, 0.12);
    const double tipY = random.uniform(-0.09, 0.09);
    const Eigen::Vector3d tip(tipX, tipY, random.uniform(0.12, 0.18));
    from_ = (tip - goal_).norm();
    return tip;
  }

  void beforeStep(Physics& physics, Arm& arm) override { assist_.release(physics, arm); }
  void afterStep(Physics& physics, Arm& arm) override {
    assist_.settle(physics, arm, needle_.distance(physics, arm.tip(physics)));
  }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    out.length(goal_);
    out.length(goal_ - arm.tip(physics));
    out.length(physics.position(needle_.body()) - arm.tip(physics));
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const double left = (goal_ - arm.tip(physics)).norm();
    if (left < kReached && arm.velocity(physics).norm() < kStill) return 2;
    return left < kNearer * from_ ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    const double left = (goal_ - arm.tip(physics)).norm();
    return 0.5 * (1 - std::min(1.0, left / 0.35)) + 0.5 * (1 - std::tanh(15 * left));
  }

 private:
  Needle needle_;
  int mark_;
  GraspAssist assist_;
  Eigen::Vector3d goal_{0, 0, 0};
  double from_ = 0;
};

}  // namespace

TaskDefinition needleReach() {
  TaskDefinition task{};
  task.name = "NeedleReach";
  task.observed = 9;
  task.phases = 3;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<NeedleReach>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
