// What the bindings of this addon offer each other.
#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "surgiclaw/grabber/frame_source.h"
#ifdef SURGICLAW_HAS_GEOMETRY
#include "surgiclaw/geometry/needle.h"
#endif

namespace surgiclaw::cell {

/// The frame source inside a JavaScript Camera. @throws Napi::TypeError naming `what` when it is none.
std::shared_ptr<grabber::FrameSource> frameSourceOf(const Napi::Value& value, const std::string& what);

/// The native lease inside a JavaScript FrameLease, shared: the frame stays until the last holder lets go,
/// even when JavaScript releases it meanwhile. @throws Napi::TypeError when it is none, Napi::Error when it
/// was released.
std::shared_ptr<grabber::FrameLease> frameOf(const Napi::Value& value, const std::string& what);

/// A JavaScript FrameLease (src/cell/native.ts) over a native one. JS thread.
Napi::Object wrapFrame(Napi::Env env, const std::string& camera, grabber::FrameLease lease);

#ifdef SURGICLAW_HAS_GEOMETRY
/// NeedleEstimate of src/cell/native.ts.
Napi::Object needleToJs(Napi::Env env, const geometry::NeedleEstimate& needle);
/// @throws Napi::TypeError or RangeError naming the member. The reason is not taken over.
geometry::NeedleEstimate needleFromJs(const Napi::Value& value, const std::string& what);
#endif

void initFrames(Napi::Env env, Napi::Object exports);
void initCamera(Napi::Env env, Napi::Object exports);
void initGeometry(Napi::Env env, Napi::Object exports);
void initImages(Napi::Env env, Napi::Object exports);
/// JPEG and hash, as members of `geometry`.
void addImageFunctions(Napi::Env env, Napi::Object geometry);
void initHeart(Napi::Env env, Napi::Object exports);
void initSystem(Napi::Env env, Napi::Object exports);
void initEnvelopes(Napi::Env env, Napi::Object exports);
/// In servo_binding.cc.
void initServo(Napi::Env env, Napi::Object exports);

}  // namespace surgiclaw::cell
