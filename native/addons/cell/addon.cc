// The cell's native addon: see src/cell/native.ts for its interface.
#include <napi.h>

#include <opencv2/core.hpp>

#include "bindings.h"
#include "environment.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  using namespace surgiclaw::cell;
  // The lanes are the parallelism; OpenCV's own threads would fight them for the cores.
  cv::setNumThreads(1);
  Environment::create(env);
  initFrames(env, exports);
  initCamera(env, exports);
  initGeometry(env, exports);
  initImages(env, exports);
  initHeart(env, exports);
  initSystem(env, exports);
  initEnvelopes(env, exports);
#ifdef SURGICLAW_HAS_SERVO
  initServo(env, exports);
#endif
  return exports;
}

}  // namespace

NODE_API_MODULE(cell, init)
