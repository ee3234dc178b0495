// ShuntInsert: a tube of 14 mm lies on two supports; seat its right end in a socket whose bore is 0.7 mm
// wider.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "guidance.h"
#include "surgiclaw/surgworld/grasp_assist.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr double kRadius = 0.008;
/// From the middle to the end of the round cap.
constexpr double kHalfLength = 0.04;
constexpr double kRest = 0.028;
constexpr double kBore = 0.0098;
constexpr double kDepth = 0.034;
constexpr double kSeated = 0.028;
constexpr double kStill = 0.2;
constexpr double kAligned = 0.006;

std::string scene(const TaskDefinition& task) {
  SceneText text;
  std::ostringstream out;
  out << "<body name='supports' mocap='true'>";
  for (const double x : {-0.026, 0.026}) {
    out << "<geom type='box' pos='" << x << " 0 0.01' size='0.005 0.015 0.01' material='white'" << kFixed
        << "/>";
    for (const double y : {-0.0125, 0.0125})
      out << "<geom type='box' pos='" << x << ' ' << y
          << " 0.0235' size='0.005 0.0025 0.0035' material='white'" << kFixed << "/>";
  }
  // The socket's frame: origin in the middle of the opening, bore along x.
  out << "</body><body name='socket' mocap='true'>";
  constexpr double kOuter = 0.026;
  constexpr double kThick = (kOuter - kBore) / 2;
  constexpr double kMiddle = (kOuter + kBore) / 2;
  const std::array<std::array<double, 4>, 4> walls{{{kMiddle, 0, kThick, kOuter},
                                                    {-kMiddle, 0, kThick, kOuter},
                                                    {0, kMiddle, kBore, kThick},
                                                    {0, -kMiddle, kBore, kThick}}};
  for (const auto& [y, z, halfY, halfZ] : walls)
    out << "<geom type='box' pos='" << kDepth / 2 << ' ' << y << ' ' << z << "' size='" << kDepth / 2 << ' '
        << halfY << ' ' << halfZ << "' material='blue' friction='0.3 0.01 0.001'" << kFixed << "/>";
  out << "<geom type='box' pos='" << kDepth + 0.004 << " 0 0' size='0.004 " << kOuter << ' ' << kOuter
      << "' material='blue'" << kFixed
      << "/><geom type='box' pos='0.02 0 -0.055' size='0.018 0.012 0.03' material='dark'" << kVisual
      << "/></body>";
  out << "<body name='tube'>" << kSlenderJoint << "<geom name='tube' type='capsule' fromto='"
      << kRadius - kHalfLength << " 0 0 " << kHalfLength - kRadius << " 0 0' size='" << kRadius
      << "' mass='0.02' material='yellow' friction='0.5 0.01 0.001'" << kLoose << "/></body>";
  text.bodies = out.str();
  text.equalities = GraspAssist::weld("tube");
  return sceneMjcf(task, text);
}

class ShuntInsert : public Task {
 public:
  explicit ShuntInsert(const Physics& physics)
      : tube_(physics.body("tube")),
        socket_(physics.body("socket")),
        supports_(physics.body("supports")),
        assist_(physics, "tube", kRadius) {}

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.12, -0.05);
    const double y = random.uniform(-0.07, 0.07);
    physics.fix(supports_, {x, y, 0});
    physics.place(tube_, {x, y, kRest}, Eigen::Quaterniond::Identity());
    const double socketX = random.uniform(0.08, 0.11);
    const double socketY = random.uniform(-0.05, 0.05);
    opening_ = {socketX, socketY, random.uniform(0.055, 0.085)};
    physics.fix(socket_, opening_);
    const double tipX = random.uniform(-0.12, 0.04);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.12, 0.18)};
  }

  void beforeStep(Physics& physics, Arm& arm) override { assist_.release(physics, arm); }
  void afterStep(Physics& physics, Arm& arm) override { assist_.settle(physics, arm, reach(physics, arm)); }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d tube = physics.position(tube_);
    out.length(tube);
    out.length(tube - arm.tip(physics));
    out.length(opening_ - end(physics));
    out.length(opening_);
    out.vector(physics.velocity(tube_));
    out.vector(axis(physics));
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    const Eigen::Vector3d in = end(physics) - opening_;
    const double aside = in.tail<2>().norm();
    if (in.x() > kSeated && aside < kBore && physics.velocity(tube_).norm() < kStill) return 4;
    if (assist_.holds()) return in.x() > -0.03 && aside < kAligned && axis(physics).x() > 0.98 ? 3 : 2;
    if (arm.pinches(physics, tube_)) return 2;
    return reach(physics, arm) < 2 * kHalfLength ? 1 : 0;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    if (!assist_.holds())
      return guidanceToGrasp(reach(physics, arm), arm.opening(physics) / arm.spec().opening);
    const Eigen::Vector3d in = end(physics) - opening_;
    const double aside = in.tail<2>().norm();
    if (in.x() > -0.004 && aside < kBore) return 0.75 + 0.25 * std::clamp(in.x() / kSeated, 0.0, 1.0);
    // First a place in front of the opening, then along the bore.
    const double before =
        std::hypot(aside, std::max(0.0, -0.03 - in.x()) + 2 * std::max(0.0, in.x() + 0.004));
    return 0.5 + 0.1 * (1 - std::min(1.0, before / 0.3)) + 0.1 * (1 - std::tanh(15 * before)) +
           (aside < kAligned ? 0.05 * (1 + std::clamp(in.x() / 0.03, -1.0, 0.0)) : 0);
  }

 private:
  [[nodiscard]] double reach(const Physics& physics, const Arm& arm) const {
    return (physics.position(tube_) - arm.tip(physics)).norm();
  }
  [[nodiscard]] Eigen::Vector3d axis(const Physics& physics) const {
    return physics.orientation(tube_) * Eigen::Vector3d::UnitX();
  }
  [[nodiscard]] Eigen::Vector3d end(const Physics& physics) const {
    return physics.position(tube_) + kHalfLength * axis(physics);
  }

  int tube_;
  int socket_;
  int supports_;
  GraspAssist assist_;
  Eigen::Vector3d opening_{0, 0, 0};
};

}  // namespace

TaskDefinition shuntInsert() {
  TaskDefinition task{};
  task.name = "ShuntInsert";
  task.observed = 18;
  task.phases = 5;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<ShuntInsert>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
