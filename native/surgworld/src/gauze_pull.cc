// GauzePull: take a gauze by its near right corner and pull that corner onto a mark on the table.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "guidance.h"
#include "sheet.h"
#include "surgiclaw/surgworld/grasp_assist.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr int kSide = 6;
constexpr double kSpacing = 0.028;
constexpr double kNear = 0.06;
constexpr double kMoved = 0.015;
constexpr double kLine = 0.02;
constexpr double kReached = 0.015;
constexpr double kLow = 0.03;
constexpr double kStill = 0.1;

std::string scene(const TaskDefinition& task) {
  const Sheet sheet(kSide, kSpacing);
  SceneText text;
  text.bodies = std::string(
                    "<body name='mark' mocap='true'><geom type='cylinder' size='0.018 0.0008' "
                    "material='green'") +
                kVisual + "/><geom type='cylinder' size='0.007 0.001' material='white'" + kVisual +
                "/></body>" + sheet.bodies();
  text.sections = sheet.skin("white");
  text.equalities = GraspAssist::hinge(Sheet::pointName(kSide - 1, 0).c_str());
  text.option = "cone='pyramidal' solver='CG' iterations='12' tolerance='1e-6'";
  text.size = "njmax='1200' nconmax='200'";
  return sceneMjcf(task, text);
}

class GauzePull : public Task {
 public:
  explicit GauzePull(const Physics& physics)
      : sheet_(kSide, kSpacing),
        mark_(physics.body("mark")),
        assist_(physics, Sheet::pointName(kSide - 1, 0).c_str(), Sheet::kThickness) {
    sheet_.bind(physics);
  }

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.07, -0.02);
    const double y = random.uniform(-0.08, -0.03);
    const double yaw = random.uniform(-0.25, 0.25);
    const double width = (kSide - 1) * kSpacing;
    sheet_.lay(physics, {x - width * std::cos(yaw), y - width * std::sin(yaw), 0}, yaw);
    start_ = {x, y, 0};
    const double markX = x + random.uniform(0.10, 0.14);
    goal_ = {markX, y + random.uniform(-0.03, 0.06), 0};
    physics.fix(mark_, goal_);
    const double tipX = random.uniform(-0.10, 0.10);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.10, 0.16)};
  }

  void beforeStep(Physics& physics, Arm& arm) override { assist_.release(physics, arm); }
  void beforeSubstep(Physics& physics) override { sheet_.pull(physics); }
  void afterStep(Physics& physics, Arm& arm) override { assist_.settle(physics, arm, reach(physics, arm)); }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d tip = arm.tip(physics);
    out.length(corner(physics));
    out.length(corner(physics) - tip);
    out.length(goal_ - corner(physics));
    out.vector(sheet_.velocity(physics, kSide - 1, 0));
    // The rest of the sheet by its other corners and its middle.
    out.length(sheet_.point(physics, 0, 0) - tip);
    out.length(sheet_.point(physics, 0, kSide - 1) - tip);
    out.length(sheet_.point(physics, kSide - 1, kSide - 1) - tip);
    out.length(sheet_.point(physics, kSide / 2, kSide / 2) - tip);
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    if (!assist_.holds()) return reach(physics, arm) < kNear ? 1 : 0;
    const Eigen::Vector3d at = corner(physics);
    const double left = (goal_ - at).head<2>().norm();
    if (left < kReached && at.z() < kLow && sheet_.velocity(physics, kSide - 1, 0).norm() < kStill) return 5;
    const Eigen::Vector2d way = (goal_ - start_).head<2>();
    const Eigen::Vector2d gone = (at - start_).head<2>();
    const double aside = std::abs(way.x() * gone.y() - way.y() * gone.x()) / way.norm();
    if (aside < kLine && left < way.norm() / 2) return 4;
    return (at - start_).norm() > kMoved ? 3 : 2;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    if (!assist_.holds())
      return guidanceToGrasp(reach(physics, arm), arm.opening(physics) / arm.spec().opening);
    const Eigen::Vector3d at = corner(physics);
    const double left = (goal_ - at).head<2>().norm();
    const double low = left < 2 * kReached ? 1 - std::clamp((at.z() - kLow) / 0.1, 0.0, 1.0) : 0;
    return 0.55 + 0.2 * (1 - std::min(1.0, left / 0.25)) + 0.15 * (1 - std::tanh(15 * left)) + 0.1 * low;
  }

 private:
  [[nodiscard]] Eigen::Vector3d corner(const Physics& physics) const {
    return sheet_.point(physics, kSide - 1, 0);
  }
  [[nodiscard]] double reach(const Physics& physics, const Arm& arm) const {
    return (corner(physics) - arm.tip(physics)).norm();
  }

  Sheet sheet_;
  int mark_;
  GraspAssist assist_;
  Eigen::Vector3d start_{0, 0, 0};
  Eigen::Vector3d goal_{0, 0, 0};
};

}  // namespace

TaskDefinition gauzePull() {
  TaskDefinition task{};
  task.name = "GauzePull";
  task.arm.maxStep = 0.01;
  task.observed = 24;
  task.phases = 6;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<GauzePull>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
