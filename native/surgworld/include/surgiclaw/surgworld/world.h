// One world of a task: physics, arm and rules, stepped by actions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "surgiclaw/surgworld/task.h"

namespace surgiclaw::surgworld {

/// What truly happened in an episode so far: the furthest phase, and the step (from 0) at whose end each
/// phase was first reached, or -1. A phase counts as reached when it or a later one holds, so arrivals never
/// fall.
struct Reference {
  int furthest = 0;
  std::vector<std::int32_t> arrivals;
};

/// What a renderer needs to draw a moment: positions of all joints, then places and orientations of the
/// fixtures.
using Snapshot = std::vector<double>;

class World {
 public:
  World(const TaskDefinition& task, const mjModel& model, int horizon);

  void reset(std::uint64_t seed);
  /// One control step. @returns true when the episode ended by success
  bool step(const float* action);
  void observe(float* out) const;

  [[nodiscard]] int steps() const { return steps_; }
  /// The time limit is reached.
  [[nodiscard]] bool expired() const { return steps_ >= horizon_; }
  [[nodiscard]] const Reference& reference() const { return reference_; }
  /// The phase that holds now.
  [[nodiscard]] int phase() const { return task_->phase(physics_, arm_); }
  [[nodiscard]] double guidance() const { return task_->guidance(physics_, arm_); }
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] const Physics& physics() const { return physics_; }
  [[nodiscard]] const Arm& arm() const { return arm_; }

 private:
  const TaskDefinition& definition_;
  Physics physics_;
  Arm arm_;
  std::unique_ptr<Task> task_;
  int horizon_;
  int steps_ = 0;
  Reference reference_;
};

}  // namespace surgiclaw::surgworld
