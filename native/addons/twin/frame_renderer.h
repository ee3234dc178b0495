// renderFrame of src/twin/native.ts.
#pragma once

#include <napi.h>

namespace surgiclaw::twin {

void initFrameRenderer(Napi::Env env, Napi::Object exports);

}  // namespace surgiclaw::twin
