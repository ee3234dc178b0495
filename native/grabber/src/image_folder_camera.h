#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "ring_camera.h"

namespace surgiclaw::grabber {

/// Plays the image files of a folder (PNG, PGM, JPEG, TIFF, BMP) in name order, over and over, as Mono8 at
/// the frame rate. It knows the features Width, Height (fixed) and AcquisitionFrameRate; there is no light to
/// expose.
class ImageFolderCamera final : public RingCamera {
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
  uint64_t trigger() override;

 private:
  void play();
  /// Decodes a file into `pixels`. False when it cannot be read or has another size.
  bool decode(const std::string& file, uint8_t* pixels) const;

  std::mutex mutex_;
  bool open_ = false;
  std::vector<std::string> files_;
  /// Decoded frames by file, kept while they are few; player thread alone.
  std::vector<std::vector<uint8_t>> decoded_;
  std::thread player_;
  std::atomic<bool> stopping_{false};
  std::atomic<double> frameRate_;
};
static_assert(!std::is_copy_constructible_v<ImageFolderCamera> &&
              !std::is_move_constructible_v<ImageFolderCamera>);

}  // namespace surgiclaw::grabber
