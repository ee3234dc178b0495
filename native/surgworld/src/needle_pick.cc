// NeedlePick: a curved needle lies on the pad; hold it still, 16 mm higher.
#include <algorithm>
#include <cmath>

#include "guidance.h"
#include "needle.h"
#include "surgiclaw/surgworld/grasp_assist.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kLift = 0.08;
constexpr double kClear = 0.004;
constexpr double kStill = 0.12;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  text.bodies = std::string("<geom type='box' pos='0 0 -0.0049' size='0.17 0.14 0.005' material='pink'") +
                kVisual + "/>" + Needle::bodies();
  text.equalities = GraspAssist::weld("needle");
  return sceneMjcf(task, text);
}

class NeedlePick : public Task {
 public:
  explicit NeedlePick(const Physics& physics)
      : needle_(physics), assist_(physics, "needle", Needle::kThickness) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.09, 0.09);
    const double y = random.uniform(-0.07, 0.07);
    needle_.lay(physics, x, y, random.uniform(-M_PI, M_PI));
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
    out.vector(physics.orientation(needle_.body()) * Eigen::Vector3d::UnitX());
    out.vector(physics.orientation(needle_.body()) * Eigen::Vector3d::UnitZ());
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const double height = needle_.clearance(physics);
    if (assist_.holds()) {
      const bool still = physics.velocity(needle_.body()).norm() < kStill;
      return height >= kLift && still ? 4 : height > kClear ? 3 : 2;
    }
    if (arm.pinches(physics, needle_.body())) return 2;
    return needle_.distance(physics, arm.tip(physics)) < 0.06 ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    if (!assist_.holds())
      return guidanceToGrasp(needle_.distance(physics, arm.tip(physics)),
                             arm.opening(physics) / arm.spec().opening);
    const double height = std::clamp(needle_.clearance(physics) / kLift, 0.0, 1.0);
    const double still = height < 1 ? 0 : 1 - std::tanh(2 * physics.velocity(needle_.body()).norm());
    return 0.55 + 0.3 * height + 0.15 * still;
  }

 private:
  Needle needle_;
  GraspAssist assist_;
};

}  // namespace

TaskDefinition needlePick() {
  TaskDefinition task{};
  task.name = "NeedlePick";
  task.observed = 15;
  task.phases = 5;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<NeedlePick>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
