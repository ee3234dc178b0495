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

}  // namespace surgiclaw::surgworld
