// SceneWriter of src/twin/native.ts.
#pragma once

#include <napi.h>

namespace surgiclaw::twin {

void initSceneWriter(Napi::Env env, Napi::Object exports);

}  // namespace surgiclaw::twin
