// BlockStack: put the red block on the blue one. No assist: friction holds it.
#include <algorithm>
#include <cmath>

#include "guidance.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kHalf = 0.018;
constexpr double kBase = 0.022;
/// The middle of a stacked block, above the table.
constexpr double kStacked = 2 * kBase + kHalf;
constexpr double kSideways = 0.014;
constexpr double kClear = 0.008;
constexpr double kStill = 0.08;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  text.bodies =
      std::string(
          "<body name='base'><freejoint/><geom type='box' size='0.022 0.022 0.022' mass='0.12' "
          "material='blue' condim='4' friction='1 0.01 0.001'") +
      kLoose +
      "/></body><body name='block'><freejoint/><geom type='box' size='0.018 0.018 0.018' mass='0.04' "
      "material='red' condim='4' friction='1.2 0.01 0.001'" +
      kLoose + "/></body>";
  text.option = "cone='elliptic' impratio='4' solver='Newton' iterations='12' tolerance='1e-6'";
  return sceneMjcf(task, text);
}

class BlockStack : public Task {
 public:
  explicit BlockStack(const Physics& physics) : block_(physics.body("block")), base_(physics.body("base")) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    const double baseX = random.uniform(0.03, 0.10);
    const double baseY = random.uniform(-0.06, 0.06);
    physics.place(base_, {baseX, baseY, kBase}, Eigen::Quaterniond::Identity());
    const double x = random.uniform(-0.11, -0.04);
    const double y = random.uniform(-0.07, 0.07);
    physics.place(block_, {x, y, kHalf},
                  Eigen::Quaterniond(Eigen::AngleAxisd(random.uniform(-0.2, 0.2), Eigen::Vector3d::UnitZ())));
    const double tipX = random.uniform(-0.10, 0.10);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.14, 0.20)};
  }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d block = physics.position(block_);
    out.length(block);
    out.length(block - arm.tip(physics));
    out.length(physics.position(base_) - block);
    out.vector(physics.velocity(block_));
    out.vector(physics.orientation(block_) * Eigen::Vector3d::UnitX());
    out.vector(physics.orientation(block_) * Eigen::Vector3d::UnitZ());
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d block = physics.position(block_);
    const double beside = (block - physics.position(base_)).head<2>().norm();
    const bool held = arm.pinches(physics, block_);
    const bool free =
        !physics.touchingBody(arm.leftPad(), block_) && !physics.touchingBody(arm.rightPad(), block_);
    if (free && !arm.closing() && beside < kSideways && std::abs(block.z() - kStacked) < 0.006 &&
        physics.velocity(block_).norm() < kStill && physics.velocity(base_).norm() < kStill)
      return 5;
    if (held) {
      const double height = block.z() - kHalf;
      if (beside < kSideways && height > 2 * kBase - 0.004) return 4;
      return height > kClear ? 3 : 2;
    }
    return reach(physics, arm) < 3 * kHalf ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d way =
        physics.position(base_) + Eigen::Vector3d(0, 0, kBase + kHalf) - physics.position(block_);
    const bool stacked = way.head<2>().norm() < kSideways && std::abs(way.z()) < 0.006;
    const double open = arm.opening(physics) / arm.spec().opening;
    if (stacked) return 0.85 + 0.15 * std::clamp(open, 0.0, 1.0);
    if (!arm.pinches(physics, block_)) return 0.8 * guidanceToGrasp(reach(physics, arm), open);
    const double lifted = std::clamp((physics.position(block_).z() - kHalf) / (2 * kBase + 0.01), 0.0, 1.0);
    return 0.45 + 0.15 * lifted +
           (lifted > 0.9 ? 0.2 : 0.05) * (1 - std::min(1.0, way.head<2>().norm() / 0.25));
  }

 private:
  [[nodiscard]] double reach(const Physics& physics, const Arm& arm) const {
    return (physics.position(block_) - arm.tip(physics)).norm();
  }

  int block_;
  int base_;
};

}  // namespace

TaskDefinition blockStack() {
  TaskDefinition task{};
  task.name = "BlockStack";
  task.observed = 18;
  task.phases = 6;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<BlockStack>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
