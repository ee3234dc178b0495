#include "image_folder_camera.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <system_error>
#include <utility>

#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::grabber {

namespace fs = std::filesystem;

namespace {

/// 64 frames of 2048 × 2048 are 256 MiB: more than that is decoded again each time.
constexpr size_t kKeptDecoded = 64;
constexpr double kSlowest = 0.1;
constexpr double kFastest = 1000;

bool isImage(const fs::path& file) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* known : {".png", ".pgm", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"}) {
    if (extension == known) return true;
  }
  return false;
}

}  // namespace

ImageFolderCamera::ImageFolderCamera(const CameraOptions& options)
    : RingCamera(options), frameRate_(options.frameRate) {}

ImageFolderCamera::~ImageFolderCamera() { close(); }

CameraIdentity ImageFolderCamera::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_) throw GrabberError(GrabberFault::usage, options_.name + " is open already");
  ring_->allocate();
  files_.clear();
  std::error_code error;
  for (fs::directory_iterator entry(options_.folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && isImage(entry->path())) files_.push_back(entry->path().string());
  }
  if (error)
    throw GrabberError(GrabberFault::missing,
                       options_.name + ": " + options_.folder + ": " + error.message());
  if (files_.empty()) {
    throw GrabberError(GrabberFault::missing, options_.name + ": there is no image in " + options_.folder);
  }
  std::sort(files_.begin(), files_.end());
  std::vector<uint8_t> first(ring_->slotBytes());
  if (!decode(files_.front(), first.data())) {
    throw GrabberError(GrabberFault::feature, options_.name + ": " + files_.front() + " is not an image of " +
                                                  std::to_string(options_.width) + " × " +
                                                  std::to_string(options_.height));
  }
  decoded_.assign(files_.size(), {});
  decoded_.front() = std::move(first);
  open_ = true;
  lost_.store(false);
  return {"image folder", "image folder", fs::path(options_.folder).filename().string()};
}

void ImageFolderCamera::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!open_) throw GrabberError(GrabberFault::usage, options_.name + " is not open");
  if (player_.joinable()) throw GrabberError(GrabberFault::usage, options_.name + " streams already");
  stopping_.store(false);
  ring_->setFlowing(true);
  player_ = std::thread([this] { play(); });
}

void ImageFolderCamera::close() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_.store(true);
  if (player_.joinable()) player_.join();
  ring_->setFlowing(false);
  open_ = false;
  lost_.store(false);
}

bool ImageFolderCamera::decode(const std::string& file, uint8_t* pixels) const {
  try {
    const cv::Mat image = cv::imread(file, cv::IMREAD_GRAYSCALE);
    if (image.empty() || image.cols != options_.width || image.rows != options_.height) return false;
    for (int y = 0; y < image.rows; ++y) {
      std::memcpy(pixels + static_cast<size_t>(y) * static_cast<size_t>(image.cols), image.ptr(y),
                  static_cast<size_t>(image.cols));
    }
    return true;
  } catch (const cv::Exception&) {
    return false;
  }
}

void ImageFolderCamera::play() {
  uint64_t skipped = 0;
  uint64_t due = realtime::monotonicNs();
  for (size_t index = 0; !stopping_.load(std::memory_order_acquire); index = (index + 1) % files_.size()) {
    // Short naps, so that a slow rate does not delay close().
    for (uint64_t now = realtime::monotonicNs(); now < due; now = realtime::monotonicNs()) {
      if (stopping_.load(std::memory_order_acquire)) return;
      realtime::sleepUntil(std::min(due, now + 20'000'000));
    }
    const int slot = ring_->take();
    if (slot < 0) {
      underruns_.fetch_add(1, std::memory_order_relaxed);
      ++skipped;
    } else {
      FrameInfo info;
      info.width = options_.width;
      info.height = options_.height;
      info.stride = options_.width;
      info.deviceTimestampNs = realtime::realtimeNs();
      info.hostMonotonicNs = realtime::monotonicNs();
      std::vector<uint8_t>& kept = decoded_[index];
      bool good = true;
      if (!kept.empty()) {
        std::memcpy(ring_->data(slot), kept.data(), kept.size());
      } else {
        good = decode(files_[index], ring_->data(slot));
        if (good && files_.size() <= kKeptDecoded) {
          kept.assign(ring_->data(slot), ring_->data(slot) + ring_->slotBytes());
        }
      }
      if (good) {
        ring_->publish(slot, info, std::exchange(skipped, 0));
      } else {
        incomplete_.fetch_add(1, std::memory_order_relaxed);
        ++skipped;
        ring_->giveBack(slot);
      }
    }
    due += static_cast<uint64_t>(1e9 / frameRate_.load());
    due = std::max(due, realtime::monotonicNs());
  }
}

double ImageFolderCamera::feature(const std::string& name) {
  if (name == "AcquisitionFrameRate") return frameRate_.load();
  return featureRange(name).min;
}

FeatureRange ImageFolderCamera::featureRange(const std::string& name) {
  if (name == "AcquisitionFrameRate") return {kSlowest, kFastest, 0};
  if (name == "Width") return {static_cast<double>(options_.width), static_cast<double>(options_.width), 1};
  if (name == "Height")
    return {static_cast<double>(options_.height), static_cast<double>(options_.height), 1};
  throw GrabberError(GrabberFault::feature, options_.name + ": an image folder has no feature " + name);
}

double ImageFolderCamera::setFeature(const std::string& name, double value) {
  const FeatureRange range = featureRange(name);
  if (!(value >= range.min && value <= range.max)) {
    throw GrabberError(GrabberFault::feature, options_.name + ": " + name + " = " + std::to_string(value) +
                                                  " lies outside " + std::to_string(range.min) + "…" +
                                                  std::to_string(range.max));
  }
  if (name == "AcquisitionFrameRate") frameRate_.store(value);
  return value;
}

uint64_t ImageFolderCamera::trigger() {
  throw GrabberError(GrabberFault::usage, options_.name + ": an image folder knows no trigger");
}

}  // namespace surgiclaw::grabber
