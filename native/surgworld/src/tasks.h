// The definitions of all tasks, one file each.
#pragma once

#include "surgiclaw/surgworld/task.h"

namespace surgiclaw::surgworld {

TaskDefinition blockPick();
TaskDefinition needlePick();
TaskDefinition pegTransfer();
TaskDefinition shuntInsert();
TaskDefinition gauzePull();
TaskDefinition loopPickup();
TaskDefinition needleReach();
TaskDefinition blockStack();
TaskDefinition needleReorient();
TaskDefinition gauzeRetrieve();

}  // namespace surgiclaw::surgworld
