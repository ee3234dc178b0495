#pragma once

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

/// Plays the image files of a folder (PNG, PGM, JPEG, TIFF, BMP) in name order, over and over, as Mono8 at
/// the frame rate. It knows the features Width, Height (fixed) and AcquisitionFrameRate; there is no light to
/// expose.
class ImageFolderCamera final : public Camera {
 public:
  explicit ImageFolderCamera(const CameraOptions& options);
  ~ImageFolderCamera() override;

  CameraIdentity open() override;
  void start() override;
  void close() noexcept override;
  void cancel() noexcept override {}
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
  void play();
  /// Decodes a file into `pixels`. False when it cannot be read or has another size.
  bool decode(const std::string& file, uint8_t* pixels) const;

  const CameraOptions options_;
  const std::shared_ptr<FrameRing> ring_;
  mutable std::mutex mutex_;
  bool open_ = false;
  std::vector<std::string> files_;
  /// Decoded frames by file, kept while they are few; player thread alone.
  std::vector<std::vector<uint8_t>> decoded_;
  std::thread player_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> lost_{false};
  std::atomic<double> frameRate_;
  std::atomic<uint64_t> incomplete_{0};
  std::atomic<uint64_t> underruns_{0};
};
static_assert(!std::is_copy_constructible_v<ImageFolderCamera> &&
              !std::is_move_constructible_v<ImageFolderCamera>);

}  // namespace surgiclaw::grabber
