#include <cmath>
#include <memory>

#include "genicam_camera.h"
#include "image_folder_camera.h"
#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::grabber {

std::shared_ptr<Camera> makeCamera(const CameraOptions& options) {
  const auto refuse = [&](const char* why) {
    throw GrabberError(GrabberFault::usage, options.name + ": " + why);
  };
  if (options.name.empty()) refuse("a camera needs a name");
  if (options.address.empty() == options.folder.empty()) refuse("a camera has an address or a folder");
  if (options.width < 1 || options.width > 65535 || options.height < 1 || options.height > 65535) {
    refuse("width and height are 1…65535");
  }
  if (!std::isfinite(options.frameRate) || options.frameRate < 0.1 || options.frameRate > 1000) {
    refuse("the frame rate is 0.1…1000 Hz");
  }
  if (options.packetSize < 576 || options.packetSize > 65535) refuse("the packet size is 576…65535 bytes");
  if (options.ringSize < kMinRing || options.ringSize > 1024) refuse("the ring holds 5…1024 frames");
  if (options.openAttempts < 1) refuse("at least one attempt to open");
  if (options.folder.empty()) return std::make_shared<GenicamCamera>(options);
  return std::make_shared<ImageFolderCamera>(options);
}

}  // namespace surgiclaw::grabber
