#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "picture_watch.h"
#include "ring_camera.h"
#include "v4l2_device.h"

namespace surgiclaw::grabber {

/// A capture device of Video for Linux, such as a USB microscope of the UVC class. It knows the features
/// ExposureTime (µs), Gain (of the device), AcquisitionFrameRate, Width and Height (the last three fixed
/// while it is open).
class V4l2Camera final : public RingCamera {
 public:
  V4l2Camera(const CameraOptions& options, std::shared_ptr<V4l2System> system)
      : RingCamera(options), system_(std::move(system)) {}
  ~V4l2Camera() override;

  CameraIdentity open() override;
  void start() override;
  void close() noexcept override;
  /// Opening takes no time worth giving up.
  void cancel() noexcept override {}
  double feature(const std::string& feature) override;
  FeatureRange featureRange(const std::string& feature) override;
  double setFeature(const std::string& feature, double value) override;
  uint64_t trigger() override;

 private:
  V4l2Device& requireOpen() const;
  void noteTiming();
  void drain();
  void take(const v4l2_buffer& buffer);
  void lose();
  uint64_t exposureBegan(const v4l2_buffer& buffer, uint64_t arrivalNs) const;

  const std::shared_ptr<V4l2System> system_;
  std::mutex mutex_;
  std::unique_ptr<V4l2Device> device_;
  std::thread drainer_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> latestBeginNs_{0};
  // Drain thread alone.
  bool first_ = true;
  uint32_t lastSequence_ = 0;
  uint64_t pendingSkips_ = 0;
  PictureWatch watch_;
};
static_assert(!std::is_copy_constructible_v<V4l2Camera> && !std::is_move_constructible_v<V4l2Camera>);

}  // namespace surgiclaw::grabber
