// What each part adds to the addon.
#pragma once

#include <napi.h>

namespace surgiclaw::lab {

/// VectorWorld, WorldRenderer and worldTasks: what src/lab/learning/world/native-world.ts types.
void initWorld(Napi::Env env, Napi::Object exports);

void initLearner(Napi::Env env, Napi::Object exports);

}  // namespace surgiclaw::lab
