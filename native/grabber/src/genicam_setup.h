#pragma once

#include <arv.h>

#include "surgiclaw/grabber/camera.h"

namespace surgiclaw::grabber {

/// Brings a freshly opened camera into the state that the options describe: trigger, pixel format, binning,
/// region, frame rate and, for GigE Vision, packets. Every value is checked against the camera's bounds
/// before it is written, and read back. A USB3 Vision camera takes the same way without the packets.
/// @throws GrabberError feature, refused, offline
void configureGenicam(ArvCamera* camera, const CameraOptions& options);

/// Exposure time and one frame period: how long before its arrival a frame can have begun.
uint64_t genicamLatestBeginNs(ArvCamera* camera, const CameraOptions& options);

/// @throws GrabberError offline
CameraIdentity genicamIdentity(ArvCamera* camera, const std::string& name);

}  // namespace surgiclaw::grabber
