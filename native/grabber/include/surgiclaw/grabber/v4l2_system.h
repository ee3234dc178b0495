#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "surgiclaw/grabber/camera.h"

namespace surgiclaw::grabber {

/// What a V4L2 capture device is reached by, call for call, so that a test can stand where the kernel does.
/// Results and errno are those of the system calls; a call interrupted by a signal is the implementation's to
/// repeat.
class V4l2System {
 public:
  virtual ~V4l2System() = default;
  /// Non-blocking, for reading and writing, close-on-exec.
  virtual int open(const std::string& path) = 0;
  virtual int close(int fd) = 0;
  virtual int ioctl(int fd, unsigned long request, void* argument) = 0;
  /// Shared, for reading. MAP_FAILED on error.
  virtual void* map(int fd, size_t length, size_t offset) = 0;
  virtual int unmap(void* memory, size_t length) = 0;
  /// Waits for POLLIN. Returns the events, 0 after the time.
  virtual int poll(int fd, int timeoutMs) = 0;
};

/// The kernel.
std::shared_ptr<V4l2System> linuxV4l2();

/// A camera on `options.device`; does no I/O. @throws GrabberError usage
std::shared_ptr<Camera> makeV4l2Camera(const CameraOptions& options, std::shared_ptr<V4l2System> system);

}  // namespace surgiclaw::grabber
