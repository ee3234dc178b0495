#include <cmath>
#include <memory>

#include "genicam_camera.h"
#include "image_folder_camera.h"
#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/grabber/v4l2_system.h"

namespace surgiclaw::grabber {

namespace {

/// What a source without a sensor region, a trigger or packets cannot do must not be asked of it.
bool asksForGenicam(const CameraOptions& options) {
  return options.offsetX != 0 || options.offsetY != 0 || options.binning != 1 ||
         !options.triggerSource.empty() || !options.triggerActivation.empty() || options.packetDelayUs != 0;
}

/// Layouts that Video for Linux does not have.
bool packed(PixelFormat format) {
  return format == PixelFormat::mono10Packed || format == PixelFormat::mono12Packed ||
         format == PixelFormat::mono10p || format == PixelFormat::mono12p;
}

}  // namespace

std::shared_ptr<Camera> makeCamera(const CameraOptions& options) {
  const auto refuse = [&](const char* why) {
    throw GrabberError(GrabberFault::usage, options.name + ": " + why);
  };
  if (options.name.empty()) refuse("a camera needs a name");
  if (!options.address.empty() + !options.device.empty() + !options.folder.empty() != 1) {
    refuse("a camera has an address, a device or a folder");
  }
  if (options.width < 1 || options.width > 65535 || options.height < 1 || options.height > 65535) {
    refuse("width and height are 1…65535");
  }
  if (options.offsetX < 0 || options.offsetY < 0) refuse("offsets are not negative");
  if (options.binning < 1) refuse("binning is at least 1");
  if (!std::isfinite(options.frameRate) || options.frameRate < 0.1 || options.frameRate > 1000) {
    refuse("the frame rate is 0.1…1000 Hz");
  }
  if (options.packetSize != 0 && (options.packetSize < 576 || options.packetSize > 65535)) {
    refuse("the packet size is 576…65535 bytes, or 0 to negotiate it");
  }
  if (!std::isfinite(options.packetDelayUs) || options.packetDelayUs < 0 || options.packetDelayUs > 1e5) {
    refuse("the packet delay is 0…100000 us");
  }
  if (options.ringSize < kMinRing || options.ringSize > 1024) refuse("the ring holds 5…1024 frames");
  if (options.openAttempts < 1) refuse("at least one attempt to open");
  if (!options.triggerActivation.empty() && options.triggerSource.empty()) {
    refuse("a trigger's activation needs its source");
  }
  if (!options.address.empty()) return std::make_shared<GenicamCamera>(options);
  if (asksForGenicam(options)) refuse("region, binning, trigger and packet delay are for GenICam cameras");
  if (!options.device.empty()) {
    if (packed(options.pixelFormat)) refuse("V4L2 has no such packed pixel format");
    return makeV4l2Camera(options, linuxV4l2());
  }
  if (options.pixelFormat != PixelFormat::mono8) refuse("an image folder is played as Mono8");
  return std::make_shared<ImageFolderCamera>(options);
}

}  // namespace surgiclaw::grabber
