// Several worlds of one task that step in one call; whose episode ends begins the next at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "surgiclaw/surgworld/world.h"

namespace surgiclaw::surgworld {

/// Where a step writes: caller's memory, `count` rows each.
struct StepOutputs {
  float* observations;
  float* finalObservations;
  float* rewards;
  std::uint8_t* terminals;
  std::uint8_t* truncations;
};

class VectorWorld {
 public:
  /// @throws WorldError
  VectorWorld(const std::string& task, int count, int horizon);

  [[nodiscard]] const TaskDefinition& task() const { return task_; }
  [[nodiscard]] int count() const { return static_cast<int>(worlds_.size()); }
  [[nodiscard]] const World& world(int index) const { return worlds_.at(static_cast<std::size_t>(index)); }

  /// Begins episode 0 of this seed in every world.
  void reset(std::uint64_t seed, float* observations);
  /// A world whose physics left the finite numbers ends its episode as if time were up, its last good state
  /// repeated, and is counted.
  /// @throws WorldError when an action is not finite; nothing has moved then
  void step(const float* actions, const StepOutputs& out);

  /// Privileged, of the episode that each world's last step belonged to (so also of one that has just ended).
  [[nodiscard]] const Reference& reference(int index) const {
    return references_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] double guidance(int index) const { return guidance_.at(static_cast<std::size_t>(index)); }
  /// The scene after the last step, before a world whose episode ended was reset.
  [[nodiscard]] const Snapshot& snapshot(int index) const {
    return snapshots_.at(static_cast<std::size_t>(index));
  }
  /// Episodes that were given up because their physics diverged, since the beginning.
  [[nodiscard]] std::uint64_t diverged() const { return diverged_; }
  /// Shaped rewards and snapshots cost time: only who collects asks for them.
  void keepPrivileged(bool keep) { keepPrivileged_ = keep; }

 private:
  void begin(std::size_t index);

  const TaskDefinition& task_;
  std::vector<World> worlds_;
  std::vector<std::uint64_t> episodes_;
  std::vector<Reference> references_;
  std::vector<double> guidance_;
  std::vector<Snapshot> snapshots_;
  /// The states of all worlds.
  std::vector<float> states_;
  std::uint64_t seed_ = 0;
  std::uint64_t diverged_ = 0;
  bool keepPrivileged_ = false;
};

}  // namespace surgiclaw::surgworld
