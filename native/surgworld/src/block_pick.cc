// BlockPick: a cube of 7.2 mm lies on the table; hold it still, 16 mm higher.
#include <algorithm>
#include <cmath>

#include "guidance.h"
#include "surgiclaw/surgworld/grasp_assist.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kHalf = 0.018;
constexpr double kLift = 0.08;
/// Table shows beneath it.
constexpr double kClear = 0.008;
constexpr double kStill = 0.12;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  text.bodies = std::string(
                    "<body name='block'><freejoint/><geom name='block' type='box' size='0.018 0.018 0.018' "
                    "mass='0.04' material='red' friction='1 0.01 0.001'") +
                kLoose + "/></body>";
  text.equalities = GraspAssist::weld("block");
  return sceneMjcf(task, text);
}

class BlockPick : public Task {
 public:
  explicit BlockPick(const Physics& physics)
      : block_(physics.body("block")), assist_(physics, "block", kHalf) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.10, 0.10);
    const double y = random.uniform(-0.08, 0.08);
    const double yaw = random.uniform(-0.35, 0.35);
    physics.place(block_, {x, y, kHalf},
                  Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ())));
    const double tipX = random.uniform(-0.10, 0.10);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.14, 0.20)};
  }

  void beforeStep(Physics& physics, Arm& arm) override { assist_.release(physics, arm); }
  void afterStep(Physics& physics, Arm& arm) override { assist_.settle(physics, arm, reach(physics, arm)); }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d block = physics.position(block_);
    out.length(block);
    out.length(block - arm.tip(physics));
    out.vector(physics.velocity(block_));
    // A cube looks the same after a quarter turn.
    const Eigen::Vector3d side = physics.orientation(block_) * Eigen::Vector3d::UnitX();
    const double yaw = 4 * std::atan2(side.y(), side.x());
    out.number(std::cos(yaw));
    out.number(std::sin(yaw));
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const double height = physics.position(block_).z() - kHalf;
    if (assist_.holds()) {
      const bool still = physics.velocity(block_).norm() < kStill;
      return height >= kLift && still ? 4 : height > kClear ? 3 : 2;
    }
    if (arm.pinches(physics, block_)) return 2;
    return reach(physics, arm) < 3 * kHalf ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    if (!assist_.holds())
      return guidanceToGrasp(reach(physics, arm), arm.opening(physics) / arm.spec().opening);
    const double height = std::clamp((physics.position(block_).z() - kHalf) / kLift, 0.0, 1.0);
    const double still = height < 1 ? 0 : 1 - std::tanh(2 * physics.velocity(block_).norm());
    return 0.55 + 0.3 * height + 0.15 * still;
  }

 private:
  [[nodiscard]] double reach(const Physics& physics, const Arm& arm) const {
    return (physics.position(block_) - arm.tip(physics)).norm();
  }

  int block_;
  GraspAssist assist_;
};

}  // namespace

TaskDefinition blockPick() {
  TaskDefinition task{};
  task.name = "BlockPick";
  task.observed = 11;
  task.phases = 5;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<BlockPick>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
