#include "v4l2_camera.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::grabber {

namespace {

constexpr int kPollMs = 50;
/// The kernel calls EIO something that may pass; a device that says nothing else has to be opened anew.
constexpr int kBadInARow = 10;
constexpr uint64_t kOldestStampNs = 2 * realtime::kNsPerSecond;

}  // namespace

std::shared_ptr<Camera> makeV4l2Camera(const CameraOptions& options, std::shared_ptr<V4l2System> system) {
  return std::make_shared<V4l2Camera>(options, std::move(system));
}

V4l2Camera::~V4l2Camera() { close(); }

V4l2Device& V4l2Camera::requireOpen() const {
  if (device_ == nullptr) throw GrabberError(GrabberFault::usage, options_.name + " is not open");
  return *device_;
}

CameraIdentity V4l2Camera::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (device_ != nullptr) throw GrabberError(GrabberFault::usage, options_.name + " is open already");
  ring_->allocate();
  device_ = std::make_unique<V4l2Device>(options_, system_);
  lost_.store(false, std::memory_order_release);
  noteTiming();
  return device_->identity();
}

void V4l2Camera::noteTiming() {
  latestBeginNs_.store(
      static_cast<uint64_t>((std::max(0.0, device_->exposureUs()) * 1e-6 + 1 / device_->frameRate()) * 1e9));
}

void V4l2Camera::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  V4l2Device& device = requireOpen();
  if (drainer_.joinable()) throw GrabberError(GrabberFault::usage, options_.name + " streams already");
  device.start();
  first_ = true;
  pendingSkips_ = 0;
  watch_.forget();
  stopping_.store(false);
  ring_->setFlowing(true);
  drainer_ = std::thread([this] { drain(); });
}

void V4l2Camera::close() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_.store(true);
  if (drainer_.joinable()) drainer_.join();
  ring_->setFlowing(false);
  device_.reset();
  lost_.store(false, std::memory_order_release);
}

void V4l2Camera::lose() {
  lost_.store(true, std::memory_order_release);
  ring_->setFlowing(false);
}

void V4l2Camera::drain() {
  pthread_setname_np(pthread_self(), ("grab-" + options_.name).substr(0, 15).c_str());
  int bad = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    v4l2_buffer buffer{};
    switch (device_->dequeue(buffer, kPollMs)) {
      case V4l2Device::Dequeued::nothing:
        continue;
      case V4l2Device::Dequeued::gone:
        return lose();
      case V4l2Device::Dequeued::bad:
        incomplete_.fetch_add(1, std::memory_order_relaxed);
        if (++bad == kBadInARow) return lose();
        continue;
      case V4l2Device::Dequeued::frame:
        bad = 0;
        take(buffer);
        if (!device_->enqueue(buffer)) return lose();
    }
  }
}

void V4l2Camera::take(const v4l2_buffer& buffer) {
  const uint64_t arrival = realtime::monotonicNs();
  // The device counts in 32 bits, and counts what it dropped.
  const uint32_t skipped = first_ ? 0 : buffer.sequence - lastSequence_ - 1;
  if (first_ || skipped < UINT32_MAX / 2) {
    gaps_.fetch_add(skipped, std::memory_order_relaxed);
    pendingSkips_ += skipped;
    lastSequence_ = buffer.sequence;
  }
  first_ = false;
  const bool whole = (buffer.flags & V4L2_BUF_FLAG_ERROR) == 0 && buffer.bytesused >= device_->frameBytes();
  if (!whole) {
    incomplete_.fetch_add(1, std::memory_order_relaxed);
    ++pendingSkips_;
    return;
  }
  const int slot = ring_->take();
  if (slot < 0) {
    underruns_.fetch_add(1, std::memory_order_relaxed);
    ++pendingSkips_;
    return;
  }
  FrameInfo info;
  info.width = options_.width;
  info.height = options_.height;
  info.stride = options_.width;
  const auto width = static_cast<size_t>(options_.width);
  for (size_t y = 0; y < static_cast<size_t>(options_.height); ++y) {
    toMono8(options_.pixelFormat, device_->memory(buffer) + y * device_->bytesPerLine(), width,
            ring_->data(slot) + y * width);
  }
  info.deviceTimestampNs = static_cast<uint64_t>(buffer.timestamp.tv_sec) * realtime::kNsPerSecond +
                           static_cast<uint64_t>(buffer.timestamp.tv_usec) * 1000;
  info.hostMonotonicNs = exposureBegan(buffer, arrival);
  info.repeated = watch_.repeats(ring_->data(slot), ring_->slotBytes());
  ring_->publish(slot, info, std::exchange(pendingSkips_, 0));
}

uint64_t V4l2Camera::exposureBegan(const v4l2_buffer& buffer, uint64_t arrivalNs) const {
  const uint64_t latestBegin = latestBeginNs_.load();
  const uint64_t stamp = static_cast<uint64_t>(buffer.timestamp.tv_sec) * realtime::kNsPerSecond +
                         static_cast<uint64_t>(buffer.timestamp.tv_usec) * 1000;
  const bool monotonic = (buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  const bool plausible = monotonic && stamp <= arrivalNs && arrivalNs - stamp <= kOldestStampNs;
  if (plausible && (buffer.flags & V4L2_BUF_FLAG_TSTAMP_SRC_MASK) == V4L2_BUF_FLAG_TSTAMP_SRC_SOE)
    return stamp;
  // At the end of the frame, or not known: exposure and read-out come before it.
  const uint64_t end = plausible ? stamp : arrivalNs;
  return end > latestBegin ? end - latestBegin : 0;
}

double V4l2Camera::feature(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requireOpen().feature(name);
}

FeatureRange V4l2Camera::featureRange(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requireOpen().featureRange(name);
}

double V4l2Camera::setFeature(const std::string& name, double value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double held = requireOpen().setFeature(name, value);
  noteTiming();
  return held;
}

uint64_t V4l2Camera::trigger() {
  throw GrabberError(GrabberFault::usage, options_.name + ": a V4L2 device knows no trigger");
}

}  // namespace surgiclaw::grabber
