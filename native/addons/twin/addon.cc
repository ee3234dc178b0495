// The native addon of the twin: what src/twin/native.ts types.
#include <napi.h>

#include <cstddef>

#include "frame_renderer.h"
#include "scene_writer.h"
#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::twin {
namespace {

/// The flat layout of a scene state, so that a test can hold src/twin/scene-layout.ts against it.
Napi::Object layoutOf(Napi::Env env) {
  Napi::Object result = Napi::Object::New(env);
  const auto set = [&](const char* name, std::size_t value) {
    result.Set(name, Napi::Number::New(env, static_cast<double>(value)));
  };
  set("monotonicNs", optics::layout::kMonotonicNs);
  set("light", optics::layout::kLight);
  set("tissueShift", optics::layout::kTissueShift);
  set("segmentCount", optics::layout::kSegmentCount);
  set("cameras", optics::layout::kCameras);
  set("cameraStride", optics::layout::kCameraStride);
  set("plateMounted", optics::layout::kPlateMounted);
  set("plate", optics::layout::kPlate);
  set("segments", optics::layout::kSegments);
  set("segmentStride", optics::layout::kSegmentStride);
  set("length", optics::layout::kLength);
  set("maxCameras", optics::kMaxCameras);
  set("maxSegments", optics::kMaxSegments);
  return result;
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  initSceneWriter(env, exports);
  initFrameRenderer(env, exports);
  exports.Set("sceneLayout", layoutOf(env));
  return exports;
}

}  // namespace
}  // namespace surgiclaw::twin

static Napi::Object initModule(Napi::Env env, Napi::Object exports) {
  return surgiclaw::twin::init(env, exports);
}
NODE_API_MODULE(twin, initModule)
