#include "surgiclaw/surgworld/world.h"

#include "surgiclaw/surgworld/errors.h"

namespace surgiclaw::surgworld {

World::World(const TaskDefinition& task, const mjModel& model, int horizon)
    : definition_(task),
      physics_(model),
      arm_(task.arm, physics_),
      task_(task.make(physics_)),
      horizon_(horizon) {
  if (horizon < 1) throw WorldError("an episode has one step or more");
}

void World::reset(std::uint64_t seed) {
  Random random(seed);
  physics_.reset();
  arm_.place(physics_, task_->begin(physics_, arm_, random));
  physics_.prepare();
  steps_ = 0;
  reference_.furthest = 0;
  reference_.arrivals.assign(static_cast<std::size_t>(definition_.phases), -1);
}

bool World::step(const float* action) {
  arm_.command(physics_, action);
  task_->beforeStep(physics_, arm_);
  const double duration = definition_.substeps * definition_.timeStepS;
  for (int i = 1; i <= definition_.substeps; i++) {
    arm_.drive(physics_, static_cast<double>(i) / definition_.substeps, duration);
    task_->beforeSubstep(physics_);
    physics_.advance();
  }
  physics_.requireFinite(definition_.name);
  task_->afterStep(physics_, arm_);
  const int now = phase();
  for (int reached = reference_.furthest + 1; reached <= now; reached++)
    reference_.arrivals[static_cast<std::size_t>(reached)] = steps_;
  if (now > reference_.furthest) reference_.furthest = now;
  steps_++;
  return now == definition_.phases - 1;
}

void World::observe(float* out) const {
  Observation observation(out);
  observation.length(arm_.tip(physics_));
  observation.vector(arm_.velocity(physics_));
  const ArmSpec& spec = definition_.arm;
  if (spec.opening > 0) {
    observation.number(arm_.opening(physics_) / spec.opening);
    observation.number(arm_.closing() ? -1 : 1);
  }
  if (spec.maxTurn > 0) observation.number(arm_.yaw(physics_));
  task_->observe(physics_, arm_, observation);
  if (observation.end() != out + definition_.observationSize())
    throw WorldError(std::string(definition_.name) + " observes another size than it says");
}

Snapshot World::snapshot() const {
  const mjModel* model = physics_.model();
  const mjData* data = physics_.data();
  Snapshot result(data->qpos, data->qpos + model->nq);
  result.insert(result.end(), data->mocap_pos, data->mocap_pos + 3 * model->nmocap);
  result.insert(result.end(), data->mocap_quat, data->mocap_quat + 4 * model->nmocap);
  return result;
}

}  // namespace surgiclaw::surgworld
