#pragma once

#include <arv.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "genicam_stream.h"
#include "ring_camera.h"

namespace surgiclaw::grabber {

/// A GenICam camera through Aravis: GigE Vision or USB3 Vision. Its life cycle and its features; how it is
/// set up is in genicam_setup, how frames come in genicam_stream.
class GenicamCamera final : public RingCamera {
 public:
  explicit GenicamCamera(const CameraOptions& options);
  ~GenicamCamera() override;

  CameraIdentity open() override;
  void start() override;
  void close() noexcept override;
  void cancel() noexcept override { cancelled_.store(true); }
  double feature(const std::string& feature) override;
  FeatureRange featureRange(const std::string& feature) override;
  double setFeature(const std::string& feature, double value) override;
  uint64_t trigger() override;
  /// Of a camera that waits for triggers: how long the oldest unanswered one has been out.
  uint64_t silenceNs() const override;
  Counters counters() const override;

 private:
  /// Between Aravis' heartbeat thread and this camera: the device may outlive the camera, or belong to its
  /// past.
  struct Control {
    std::mutex mutex;
    GenicamCamera* owner = nullptr;
  };
  static void onControlLost(ArvDevice* device, void* control);
  static void dropControl(void* control, GClosure* closure);
  bool softwareTriggered() const { return options_.triggerSource == "Software"; }
  /// One attempt. Holds the process-wide gate.
  void connect();
  ArvDevice* device() const;
  void requireOpen() const;
  void closeDevice() noexcept;

  // Guards camera_ and stream_ against each other's callers.
  mutable std::mutex deviceMutex_;
  ArvCamera* camera_ = nullptr;
  std::shared_ptr<Control> control_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> started_{false};
  std::atomic<uint64_t> latestBeginNs_{0};
  TriggerQueue triggers_;
  StreamCounts counts_{incomplete_, gaps_, underruns_};
  std::unique_ptr<GenicamStream> stream_;
};
static_assert(!std::is_copy_constructible_v<GenicamCamera> && !std::is_move_constructible_v<GenicamCamera>);

}  // namespace surgiclaw::grabber
