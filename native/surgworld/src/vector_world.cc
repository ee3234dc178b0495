#include "surgiclaw/surgworld/vector_world.h"

#include <cmath>
#include <cstring>

#include "surgiclaw/surgworld/errors.h"
#include "surgiclaw/surgworld/mjcf.h"

namespace surgiclaw::surgworld {

VectorWorld::VectorWorld(const std::string& task, int count, int horizon) : task_(taskNamed(task)) {
  if (count < 1) throw WorldError("there is one world or more");
  const auto model = compileModel(task_.scene(task_));
  const auto size = static_cast<std::size_t>(count);
  worlds_.reserve(size);
  for (int i = 0; i < count; i++) worlds_.emplace_back(task_, *model, horizon);
  episodes_.resize(size);
  references_.resize(size);
  guidance_.resize(size);
  snapshots_.resize(size);
  states_.resize(size * static_cast<std::size_t>(task_.observationSize()));
}

void VectorWorld::begin(std::size_t index) {
  worlds_[index].reset(episodeSeed(seed_, index, episodes_[index]++));
}

void VectorWorld::reset(std::uint64_t seed, float* observations) {
  seed_ = seed;
  const auto size = static_cast<std::size_t>(task_.observationSize());
  for (std::size_t i = 0; i < worlds_.size(); i++) {
    episodes_[i] = 0;
    begin(i);
    worlds_[i].observe(states_.data() + i * size);
    references_[i] = worlds_[i].reference();
    guidance_[i] = 0;
    if (keepPrivileged_) snapshots_[i] = worlds_[i].snapshot();
  }
  std::memcpy(observations, states_.data(), states_.size() * sizeof(float));
}

void VectorWorld::step(const float* actions, const StepOutputs& out) {
  const auto actionSize = static_cast<std::size_t>(task_.arm.actionSize());
  const auto size = static_cast<std::size_t>(task_.observationSize());
  for (std::size_t i = 0; i < worlds_.size() * actionSize; i++) {
    if (!std::isfinite(actions[i]))
      throw WorldError("action " + std::to_string(i % actionSize) + " of world " +
                       std::to_string(i / actionSize) + " is not finite");
  }
  for (std::size_t i = 0; i < worlds_.size(); i++) {
    World& world = worlds_[i];
    float* now = states_.data() + i * size;
    bool success = false;
    bool lost = false;
    try {
      success = world.step(actions + i * actionSize);
      world.observe(now);
    } catch (const DivergedError&) {
      lost = true;
      diverged_++;
    }
    std::memcpy(out.finalObservations + i * size, now, size * sizeof(float));
    out.rewards[i] = success ? 1.0F : 0.0F;
    out.terminals[i] = success ? 1 : 0;
    const bool cut = lost || (!success && world.expired());
    out.truncations[i] = cut ? 1 : 0;
    references_[i] = world.reference();
    if (keepPrivileged_ && !lost) {
      guidance_[i] = world.guidance();
      snapshots_[i] = world.snapshot();
    }
    if (success || cut) {
      begin(i);
      world.observe(now);
    }
    std::memcpy(out.observations + i * size, now, size * sizeof(float));
  }
}

}  // namespace surgiclaw::surgworld
