#pragma once

#include <linux/videodev2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/v4l2_system.h"

namespace surgiclaw::grabber {

/// One open V4L2 capture device: negotiation, controls and memory-mapped buffers, as the Video for Linux API
/// (kernel documentation, userspace-api/media/v4l) lays them down. Not thread-safe, but for dequeue() and
/// enqueue() beside the controls. All methods throw GrabberError unless they say otherwise.
class V4l2Device {
 public:
  /// Opens the device and brings it to the size, format and rate of the options. @throws GrabberError
  /// missing, refused (busy, no permission), feature (no capture device; other values than asked for)
  V4l2Device(const CameraOptions& options, std::shared_ptr<V4l2System> system);
  V4l2Device(const V4l2Device&) = delete;
  V4l2Device& operator=(const V4l2Device&) = delete;
  ~V4l2Device();

  CameraIdentity identity() const;

  double feature(const std::string& name);
  FeatureRange featureRange(const std::string& name);
  double setFeature(const std::string& name, double value);
  /// Exposure time, 0 when the device does not tell.
  double exposureUs();
  double frameRate() const { return frameRate_; }

  /// Requests, maps and queues buffers, and starts the stream.
  void start();
  /// Stops the stream and lets go of the buffers; what fails is of no use any more. Never throws.
  void stop() noexcept;

  enum class Dequeued {
    frame,
    nothing,  ///< none within the time
    bad,      ///< a frame was lost in the device (EIO); the stream goes on
    gone      ///< the device is not there any more
  };
  /// Waits for a filled buffer. Never throws.
  Dequeued dequeue(v4l2_buffer& buffer, int timeoutMs) noexcept;
  /// Gives a buffer back to the device; false when the device is gone. Never throws.
  bool enqueue(v4l2_buffer& buffer) noexcept;
  const uint8_t* memory(const v4l2_buffer& buffer) const { return mappings_[buffer.index].memory; }
  size_t mappings() const { return mappings_.size(); }
  uint32_t bytesPerLine() const { return bytesPerLine_; }
  /// Bytes from the first pixel to the last of a frame.
  size_t frameBytes() const;

 private:
  struct Mapping {
    uint8_t* memory;
    size_t length;
  };

  int call(unsigned long request, void* argument) const { return system_->ioctl(fd_, request, argument); }
  [[noreturn]] void fail(const std::string& what, int error) const;
  void requireCapture();
  void negotiateFormat();
  void negotiateRate(double rate);
  std::string offeredFormats();
  bool queryControl(uint32_t id, v4l2_queryctrl& control);

  const CameraOptions options_;
  const std::shared_ptr<V4l2System> system_;
  int fd_ = -1;
  v4l2_capability capability_{};
  uint32_t bytesPerLine_ = 0;
  double frameRate_ = 0;
  std::vector<Mapping> mappings_;
};

}  // namespace surgiclaw::grabber
