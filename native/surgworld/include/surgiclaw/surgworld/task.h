// A task: its scene, how an episode begins, what is observed, and which phase the world is in.
//
// Scenes are drawn five times as large as life, as is usual for contact with small things: one model metre is
// 0.2 m, so that a step of 0.02 is 4 mm and the assist's radius of 0.015 is 3 mm. LoopPickup has a scale of
// its own. Table and tool are the same everywhere: z up, the table at 0, x to the right of the view, y away
// from it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "surgiclaw/surgworld/arm.h"
#include "surgiclaw/surgworld/physics.h"
#include "surgiclaw/surgworld/random.h"

namespace surgiclaw::surgworld {

/// Fills one observation: lengths in units of a tenth of a model metre, speeds in model metres a second.
class Observation {
 public:
  explicit Observation(float* out) : out_(out) {}
  void length(const Eigen::Vector3d& v) {
    for (int i = 0; i < 3; i++) number(10 * v[i]);
  }
  void vector(const Eigen::Vector3d& v) {
    for (int i = 0; i < 3; i++) number(v[i]);
  }
  void number(double value) { *out_++ = static_cast<float>(value); }
  [[nodiscard]] const float* end() const { return out_; }

 private:
  float* out_;
};

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Puts everything but the arm in its first place and returns where the tip begins.
  virtual Eigen::Vector3d begin(Physics& physics, Arm& arm, Random& random) = 0;
  /// Between command and motion.
  virtual void beforeStep(Physics& /*physics*/, Arm& /*arm*/) {}
  /// Before each time step of the physics: forces that MuJoCo does not know of.
  virtual void beforeSubstep(Physics& /*physics*/) {}
  /// After the motion of a control step.
  virtual void afterStep(Physics& /*physics*/, Arm& /*arm*/) {}
  /// What the task adds to the arm's own state.
  virtual void observe(const Physics& physics, const Arm& arm, Observation& out) const = 0;
  /// Position in the task's vocabulary of the furthest phase whose rule holds now; the last one is success.
  [[nodiscard]] virtual int phase(const Physics& physics, const Arm& arm) const = 0;
  /// Privileged: a shaped reward from 0 to 1, for those who collect. Learners never see it.
  [[nodiscard]] virtual double guidance(const Physics& physics, const Arm& arm) const = 0;
};

/// What is known of a task before a world of it exists.
struct TaskDefinition {
  const char* name;
  ArmSpec arm;
  /// Numbers that Task::observe adds.
  int observed;
  /// Phases of the vocabulary, the first included.
  int phases;
  /// True metres of one model metre.
  double metresPerModelMetre;
  /// Time steps of a control step, and how long one takes, s.
  int substeps;
  double timeStepS;
  /// MJCF of the whole scene.
  std::function<std::string(const TaskDefinition&)> scene;
  std::function<std::unique_ptr<Task>(Physics&)> make;

  /// Tip, its velocity, jaws (opening, command), turn where the tool turns, then what the task adds.
  [[nodiscard]] int observationSize() const {
    return 6 + (arm.opening > 0 ? 2 : 0) + (arm.maxTurn > 0 ? 1 : 0) + observed;
  }
};

/// All tasks. @throws WorldError from `taskNamed` when there is none of that name
const std::vector<TaskDefinition>& allTasks();
const TaskDefinition& taskNamed(const std::string& name);

}  // namespace surgiclaw::surgworld
