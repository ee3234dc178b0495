// GauzeRetrieve: pick a small gauze up by its middle, carry it to the tray and let it go.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "guidance.h"
#include "sheet.h"
#include "surgiclaw/surgworld/mjcf.h"
#include "tasks.h"

namespace surgiclaw::surgworld {
namespace {

constexpr int kSide = 5;
constexpr int kMiddle = kSide / 2;
constexpr double kSpacing = 0.02;
constexpr double kTray = 0.07;
constexpr double kLifted = 0.04;
/// Crumpled, but on the tray.
constexpr double kLow = 0.07;
constexpr double kStill = 0.15;

std::string scene(const TaskDefinition& task) {
  const Sheet sheet(kSide, kSpacing);
  SceneText text;
  std::ostringstream out;
  out << "<body name='tray' mocap='true'><geom type='box' pos='0 0 0.0004' size='" << kTray << ' ' << kTray
      << " 0.0004' material='shaft'" << kVisual << "/>";
  for (const double side : {-1.0, 1.0})
    out << "<geom type='box' pos='" << side * kTray << " 0 0.005' size='0.002 " << kTray
        << " 0.005' material='steel'" << kFixed << "/><geom type='box' pos='0 " << side * kTray
        << " 0.005' size='" << kTray << " 0.002 0.005' material='steel'" << kFixed << "/>";
  out << "</body>";
  text.bodies = out.str() + sheet.bodies();
  text.sections = sheet.skin("white");
  text.equalities = GraspAssist::hinge(Sheet::pointName(kMiddle, kMiddle).c_str());
  text.option = "cone='pyramidal' solver='CG' iterations='12' tolerance='1e-6'";
  text.size = "njmax='1200' nconmax='200'";
  return sceneMjcf(task, text);
}

class GauzeRetrieve : public Task {
 public:
  explicit GauzeRetrieve(const Physics& physics)
      : sheet_(kSide, kSpacing),
        tray_(physics.body("tray")),
        assist_(physics, Sheet::pointName(kMiddle, kMiddle).c_str(), Sheet::kThickness) {
    sheet_.bind(physics);
  }

  Eigen::Vector3d begin(Physics& physics, Arm& /*arm*/, Random& random) override {
    assist_.reset(physics);
    const double x = random.uniform(-0.13, -0.09);
    const double y = random.uniform(-0.10, 0.02);
    sheet_.lay(physics, {x, y, 0}, random.uniform(-0.3, 0.3));
    centre_ = {random.uniform(0.08, 0.11), random.uniform(-0.04, 0.04), 0};
    physics.fix(tray_, centre_);
    const double tipX = random.uniform(-0.10, 0.08);
    const double tipY = random.uniform(-0.08, 0.08);
    return {tipX, tipY, random.uniform(0.10, 0.16)};
  }

  void beforeStep(Physics& physics, Arm& arm) override { assist_.release(physics, arm); }
  void beforeSubstep(Physics& physics) override { sheet_.pull(physics); }
  void afterStep(Physics& physics, Arm& arm) override { assist_.settle(physics, arm, reach(physics, arm)); }

  void observe(const Physics& physics, const Arm& arm, Observation& out) const override {
    const Eigen::Vector3d tip = arm.tip(physics);
    out.length(middle(physics));
    out.length(middle(physics) - tip);
    out.length(centre_ - middle(physics));
    out.vector(sheet_.velocity(physics, kMiddle, kMiddle));
    for (const int column : {0, kSide - 1})
      for (const int row : {0, kSide - 1}) out.length(sheet_.point(physics, column, row) - tip);
  }

  [[nodiscard]] int phase(const Physics& physics, const Arm& arm) const override {
    if (!arm.closing() && inTray(physics)) return 5;
    if (!assist_.holds()) return reach(physics, arm) < kSpacing * (kSide - 1) / 2 + 0.015 ? 1 : 0;
    const Eigen::Vector3d at = middle(physics);
    if (at.z() < kLifted) return 2;
    const Eigen::Vector3d way = centre_ - at;
    return std::max(std::abs(way.x()), std::abs(way.y())) < kTray ? 4 : 3;
  }

  [[nodiscard]] double guidance(const Physics& physics, const Arm& arm) const override {
    const double open = arm.opening(physics) / arm.spec().opening;
    const double beside = (centre_ - middle(physics)).head<2>().norm();
    if (!assist_.holds()) return beside < kTray ? 0.9 : guidanceToGrasp(reach(physics, arm), open);
    const double lifted = std::clamp(middle(physics).z() / (2 * kLifted), 0.0, 1.0);
    return 0.55 + 0.1 * lifted + 0.2 * (1 - std::min(1.0, beside / 0.3));
  }

 private:
  [[nodiscard]] Eigen::Vector3d middle(const Physics& physics) const {
    return sheet_.point(physics, kMiddle, kMiddle);
  }
  [[nodiscard]] double reach(const Physics& physics, const Arm& arm) const {
    return (middle(physics) - arm.tip(physics)).norm();
  }
  [[nodiscard]] bool inTray(const Physics& physics) const {
    double speed = 0;
    for (int row = 0; row < kSide; row++) {
      for (int column = 0; column < kSide; column++) {
        const Eigen::Vector3d at = sheet_.point(physics, column, row);
        const Eigen::Vector3d off = at - centre_;
        if (std::max(std::abs(off.x()), std::abs(off.y())) > kTray + 0.005 || at.z() > kLow) return false;
        speed += sheet_.velocity(physics, column, row).norm() / (kSide * kSide);
      }
    }
    return speed < kStill;
  }

  Sheet sheet_;
  int tray_;
  GraspAssist assist_;
  Eigen::Vector3d centre_{0, 0, 0};
};

}  // namespace

TaskDefinition gauzeRetrieve() {
  TaskDefinition task{};
  task.name = "GauzeRetrieve";
  task.observed = 24;
  task.phases = 6;
  task.metresPerModelMetre = 0.2;
  task.substeps = 4;
  task.timeStepS = 0.005;
  task.scene = scene;
  task.make = [](Physics& physics) { return std::make_unique<GauzeRetrieve>(physics); };
  return task;
}

}  // namespace surgiclaw::surgworld
