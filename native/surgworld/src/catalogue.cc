#include "surgiclaw/surgworld/errors.h"
#include "tasks.h"

namespace surgiclaw::surgworld {

const std::vector<TaskDefinition>& allTasks() {
  static const std::vector<TaskDefinition> tasks{
      blockPick(),  needlePick(),  pegTransfer(), shuntInsert(),    gauzePull(),
      loopPickup(), needleReach(), blockStack(),  needleReorient(), gauzeRetrieve(),
  };
  return tasks;
}

const TaskDefinition& taskNamed(const std::string& name) {
  for (const TaskDefinition& task : allTasks())
    if (name == task.name) return task;
  throw WorldError("there is no task " + name);
}

}  // namespace surgiclaw::surgworld
