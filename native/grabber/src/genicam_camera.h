#pragma once

#include <arv.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/frame_ring.h"

namespace surgiclaw::grabber {

/// A GenICam camera through Aravis. A thread of its own takes frames out of Aravis at once, whatever the
/// consumers do (Aravis does not reuse frames that nobody fetched).
class GenicamCamera final : public Camera {
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
  void onChange(std::function<void()> listener) override { ring_->onChange(std::move(listener)); }

  const std::string& name() const override { return options_.name; }
  FrameLease latest(uint64_t afterSequence) override { return ring_->latest(afterSequence); }
  FrameLease waitNewer(uint64_t afterSequence, std::chrono::nanoseconds timeout) override {
    return ring_->waitNewer(afterSequence, timeout);
  }
  FrameLease waitExposedAfter(uint64_t monotonicNs, std::chrono::nanoseconds timeout) override {
    return ring_->waitExposedAfter(monotonicNs, timeout);
  }
  uint64_t silenceNs() const override { return ring_->silenceNs(); }
  bool lost() const override { return lost_.load(std::memory_order_acquire); }
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
  static void onStreamEvent(void* self, ArvStreamCallbackType type, ArvBuffer* buffer);
  /// One attempt. Holds the process-wide gate.
  void connect();
  void configure();
  CameraIdentity identity();
  ArvDevice* device() const;
  void requireOpen() const;
  void noteTiming();
  void drain();
  void feedStream();
  void take(ArvBuffer* buffer);
  void stopStream() noexcept;
  void closeDevice() noexcept;

  const CameraOptions options_;
  const std::shared_ptr<FrameRing> ring_;
  // Guards camera_ and stream_ against each other's callers; the drain thread reads stream_ while it runs.
  mutable std::mutex deviceMutex_;
  ArvCamera* camera_ = nullptr;
  ArvStream* stream_ = nullptr;
  std::shared_ptr<Control> control_;
  std::vector<ArvBuffer*> buffers_;  ///< of the slots that are not with Aravis; drain thread alone
  std::thread drainer_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> lost_{false};
  /// Exposure and one frame period: how long before its arrival a frame can have begun.
  std::atomic<uint64_t> latestBeginNs_{0};
  uint64_t lastFrameId_ = 0;  ///< drain thread alone; 0: none yet
  uint64_t pendingSkips_ = 0;
  std::atomic<uint64_t> incomplete_{0};
  std::atomic<uint64_t> gaps_{0};
  std::atomic<uint64_t> underruns_{0};
  std::atomic<uint64_t> streamUnderruns_{0};
};
static_assert(!std::is_copy_constructible_v<GenicamCamera> && !std::is_move_constructible_v<GenicamCamera>);

}  // namespace surgiclaw::grabber
