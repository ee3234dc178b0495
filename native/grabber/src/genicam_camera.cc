#include "genicam_camera.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <set>
#include <utility>

#include "genicam_features.h"
#include "surgiclaw/grabber/frame_time.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::grabber {

namespace {

using std::chrono::milliseconds;

/// Cameras are opened one after the other in the whole process: two at once made one of them time out. Never
/// destroyed, because a thread may still be opening while the process exits.
std::mutex& openingGate() {
  static auto* const gate = new std::mutex;
  return *gate;
}

/// A controller that died keeps the camera until its heartbeat expires there (3 s by default).
constexpr milliseconds kHeartbeatBackOff{3300};
constexpr milliseconds kShortBackOff{300};
constexpr int kControlAttempts = 3;
constexpr milliseconds kGoodbye{1500};
constexpr uint64_t kDrainWaitUs = 20'000;

/// Changing these would change the size of a frame under way.
const std::set<std::string>& sizeFeatures() {
  static const auto* const names = new std::set<std::string>{
      "Width", "Height", "PixelFormat", "BinningHorizontal", "BinningVertical", "GevSCPSPacketSize"};
  return *names;
}

}  // namespace

GenicamCamera::GenicamCamera(const CameraOptions& options)
    : options_(options),
      ring_(FrameRing::make(options.name, options.ringSize,
                            static_cast<size_t>(options.width) * static_cast<size_t>(options.height),
                            options.mode)),
      buffers_(static_cast<size_t>(options.ringSize), nullptr) {}

GenicamCamera::~GenicamCamera() { close(); }

ArvDevice* GenicamCamera::device() const { return arv_camera_get_device(camera_); }

void GenicamCamera::requireOpen() const {
  if (camera_ == nullptr) throw GrabberError(GrabberFault::usage, options_.name + " is not open");
}

CameraIdentity GenicamCamera::open() {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  if (camera_ != nullptr) throw GrabberError(GrabberFault::usage, options_.name + " is open already");
  ring_->allocate();
  cancelled_.store(false);
  int controlAttempts = kControlAttempts;
  for (int attempt = 1;; ++attempt) {
    milliseconds backOff = kShortBackOff;
    try {
      connect();
      configure();
      lost_.store(false, std::memory_order_release);
      return identity();
    } catch (const GrabberError& error) {
      closeDevice();
      if (error.fault() == GrabberFault::refused && --controlAttempts > 0) {
        backOff = kHeartbeatBackOff;
      } else if (error.fault() == GrabberFault::feature || error.fault() == GrabberFault::refused ||
                 attempt >= options_.openAttempts) {
        throw;
      }
      for (auto slept = milliseconds::zero(); slept < backOff; slept += milliseconds(20)) {
        if (cancelled_.load()) throw;
        std::this_thread::sleep_for(milliseconds(20));
      }
    }
  }
}

void GenicamCamera::connect() {
  const std::lock_guard<std::mutex> gate(openingGate());
  if (cancelled_.load()) throw GrabberError(GrabberFault::offline, options_.name + ": opening was given up");
  const std::string what = options_.name + " at " + options_.address;
  GError* error = nullptr;
  camera_ = arv_camera_new(options_.address.c_str(), &error);
  throwIf(error, what);
  if (camera_ == nullptr) throw GrabberError(GrabberFault::missing, what + ": no such camera");
  if (ARV_IS_GV_DEVICE(device()) && !arv_gv_device_is_controller(ARV_GV_DEVICE(device()))) {
    throw GrabberError(GrabberFault::refused, what + ": another program controls the camera");
  }
  control_ = std::make_shared<Control>();
  control_->owner = this;
  g_signal_connect_data(device(), "control-lost", G_CALLBACK(&GenicamCamera::onControlLost),
                        new std::shared_ptr<Control>(control_), &GenicamCamera::dropControl, GConnectFlags{});
}

void GenicamCamera::configure() {
  ArvDevice* const d = device();
  const std::string& where = options_.name;
  // A camera that was left streaming refuses a change of its frame size.
  GError* error = nullptr;
  arv_camera_stop_acquisition(camera_, &error);
  g_clear_error(&error);
  if (hasFeature(d, "TriggerMode")) writeSymbol(d, where, "TriggerMode", "Off");
  writeSymbol(d, where, "AcquisitionMode", "Continuous");
  writeSymbol(d, where, "PixelFormat", "Mono8");
  for (const char* binning : {"BinningHorizontal", "BinningVertical"}) {
    if (hasFeature(d, binning)) writeFeature(d, where, binning, 1);
  }
  // Offsets first: they bound the size.
  for (const char* offset : {"OffsetX", "OffsetY"}) {
    if (hasFeature(d, offset)) writeFeature(d, where, offset, 0);
  }
  writeFeature(d, where, "Width", options_.width);
  writeFeature(d, where, "Height", options_.height);
  if (hasFeature(d, "AcquisitionFrameRateEnable")) writeFeature(d, where, "AcquisitionFrameRateEnable", 1);
  if (hasFeature(d, "AcquisitionFrameRate"))
    writeFeature(d, where, "AcquisitionFrameRate", options_.frameRate);
  if (arv_camera_is_gv_device(camera_)) {
    // Aravis would replace the size when its test packet is lost.
    arv_camera_gv_set_packet_size_adjustment(camera_, ARV_GV_PACKET_SIZE_ADJUSTMENT_NEVER);
    arv_camera_gv_set_packet_size(camera_, options_.packetSize, &error);
    throwIf(error, where + ": packet size " + std::to_string(options_.packetSize));
    const guint held = arv_camera_gv_get_packet_size(camera_, &error);
    throwIf(error, where + ": reading the packet size");
    if (held != static_cast<guint>(options_.packetSize)) {
      throw GrabberError(GrabberFault::feature, where + ": the packet size was set to " +
                                                    std::to_string(options_.packetSize) + " and reads back " +
                                                    std::to_string(held));
    }
    // As root Aravis would use a packet socket, which gets nothing on loopback and says nothing.
    arv_camera_gv_set_stream_options(camera_, ARV_GV_STREAM_OPTION_PACKET_SOCKET_DISABLED);
  }
  noteTiming();
}

CameraIdentity GenicamCamera::identity() {
  GError* error = nullptr;
  const auto text = [&](const char* value, const char* what) {
    throwIf(std::exchange(error, nullptr), options_.name + ": reading the " + what);
    return std::string(value == nullptr ? "" : value);
  };
  CameraIdentity identity;
  const char* value = arv_camera_get_vendor_name(camera_, &error);
  identity.vendor = text(value, "vendor");
  value = arv_camera_get_model_name(camera_, &error);
  identity.model = text(value, "model");
  value = arv_camera_get_device_serial_number(camera_, &error);
  identity.serial = text(value, "serial number");
  return identity;
}

void GenicamCamera::noteTiming() {
  double exposureUs = 0;
  for (const char* name : {"ExposureTime", "ExposureTimeAbs", "ExposureTimeRaw"}) {
    if (!hasFeature(device(), name)) continue;
    exposureUs = readFeature(device(), options_.name, name);
    break;
  }
  double rate = options_.frameRate;
  if (hasFeature(device(), "AcquisitionFrameRate")) {
    rate = readFeature(device(), options_.name, "AcquisitionFrameRate");
  }
  const double periodS = rate > 0 ? 1 / rate : 1;
  latestBeginNs_.store(static_cast<uint64_t>((std::max(0.0, exposureUs) * 1e-6 + periodS) * 1e9));
}

void GenicamCamera::start() {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  requireOpen();
  if (stream_ != nullptr) throw GrabberError(GrabberFault::usage, options_.name + " streams already");
  if (lost())
    throw GrabberError(GrabberFault::offline, options_.name + " was lost; close it and open it again");
  GError* error = nullptr;
  const guint payload = arv_camera_get_payload(camera_, &error);
  throwIf(error, options_.name + ": reading the payload size");
  if (payload == 0 || payload > ring_->slotBytes()) {
    throw GrabberError(GrabberFault::feature, options_.name + ": frames of " + std::to_string(payload) +
                                                  " bytes do not fit the ring's " +
                                                  std::to_string(ring_->slotBytes()));
  }
  ArvStream* const stream = arv_camera_create_stream(camera_, &GenicamCamera::onStreamEvent, this, &error);
  throwIf(error, options_.name + ": creating the stream");
  if (stream == nullptr) throw GrabberError(GrabberFault::refused, options_.name + ": no stream");
  stream_ = stream;
  if (ARV_IS_GV_STREAM(stream)) {
    // The system's default buffer is smaller than a frame: bursts would be lost.
    g_object_set(stream, "socket-buffer", ARV_GV_STREAM_SOCKET_BUFFER_AUTO, nullptr);
  }
  lastFrameId_ = 0;
  pendingSkips_ = 0;
  streamUnderruns_.store(0);
  stopping_.store(false);
  ring_->setFlowing(true);
  feedStream();
  arv_camera_start_acquisition(camera_, &error);
  if (error != nullptr) {
    stopStream();
    g_clear_object(&stream_);
    throwIf(error, options_.name + ": starting the acquisition");
  }
  drainer_ = std::thread([this] { drain(); });
}

void GenicamCamera::onStreamEvent(void*, ArvStreamCallbackType type, ArvBuffer*) {
  // The thread that reads the socket: a late look costs packets. Not being allowed costs nothing.
  if (type == ARV_STREAM_CALLBACK_TYPE_INIT) setpriority(PRIO_PROCESS, 0, -10);
}

void GenicamCamera::onControlLost(ArvDevice*, void* held) {
  const std::shared_ptr<Control> control = *static_cast<std::shared_ptr<Control>*>(held);
  const std::lock_guard<std::mutex> lock(control->mutex);
  if (control->owner == nullptr) return;
  control->owner->lost_.store(true, std::memory_order_release);
  control->owner->ring_->setFlowing(false);
}

void GenicamCamera::dropControl(void* held, GClosure*) {
  delete static_cast<std::shared_ptr<Control>*>(held);
}

void GenicamCamera::feedStream() {
  for (int slot = ring_->take(); slot >= 0; slot = ring_->take()) {
    ArvBuffer*& kept = buffers_[static_cast<size_t>(slot)];
    if (kept == nullptr) {
      kept = arv_buffer_new_full(ring_->slotBytes(), ring_->data(slot), GINT_TO_POINTER(slot), nullptr);
    }
    arv_stream_push_buffer(stream_, std::exchange(kept, nullptr));
  }
}

void GenicamCamera::drain() {
  pthread_setname_np(pthread_self(), ("grab-" + options_.name).substr(0, 15).c_str());
  while (!stopping_.load(std::memory_order_acquire)) {
    feedStream();
    ArvBuffer* const buffer = arv_stream_timeout_pop_buffer(stream_, kDrainWaitUs);
    if (buffer != nullptr) take(buffer);
    guint64 completed = 0;
    guint64 failures = 0;
    guint64 underruns = 0;
    arv_stream_get_statistics(stream_, &completed, &failures, &underruns);
    streamUnderruns_.store(underruns, std::memory_order_relaxed);
  }
}

void GenicamCamera::take(ArvBuffer* buffer) {
  const uint64_t arrival = realtime::monotonicNs();
  const int slot = GPOINTER_TO_INT(arv_buffer_get_user_data(buffer));
  buffers_[static_cast<size_t>(slot)] = buffer;
  const ArvBufferStatus status = arv_buffer_get_status(buffer);
  const uint64_t id = arv_buffer_get_frame_id(buffer);
  if (status == ARV_BUFFER_STATUS_CLEARED || status == ARV_BUFFER_STATUS_ABORTED) {
    ring_->giveBack(slot);
    return;
  }
  uint64_t skipped = 0;
  if (lastFrameId_ != 0 && id != 0) skipped = skippedFrames(lastFrameId_, id);
  if (id != 0) lastFrameId_ = id;
  gaps_.fetch_add(skipped, std::memory_order_relaxed);
  pendingSkips_ += skipped;
  FrameInfo info;
  bool whole = status == ARV_BUFFER_STATUS_SUCCESS;
  if (whole) {
    gint x = 0;
    gint y = 0;
    arv_buffer_get_image_region(buffer, &x, &y, &info.width, &info.height);
    info.stride = info.width;
    const uint64_t bytes =
        static_cast<uint64_t>(std::max(0, info.width)) * static_cast<uint64_t>(std::max(0, info.height));
    whole = bytes > 0 && bytes <= ring_->slotBytes() &&
            arv_buffer_get_image_pixel_format(buffer) == ARV_PIXEL_FORMAT_MONO_8;
  }
  if (!whole) {
    incomplete_.fetch_add(1, std::memory_order_relaxed);
    ++pendingSkips_;
    ring_->giveBack(slot);
    return;
  }
  info.deviceTimestampNs = arv_buffer_get_timestamp(buffer);
  info.hostMonotonicNs =
      exposureBeganNs(info.deviceTimestampNs, arrival, readClockPair(), latestBeginNs_.load());
  ring_->publish(slot, info, std::exchange(pendingSkips_, 0));
}

void GenicamCamera::stopStream() noexcept {
  stopping_.store(true, std::memory_order_release);
  if (drainer_.joinable()) drainer_.join();
  ring_->setFlowing(false);
  if (stream_ == nullptr) return;
  underruns_.fetch_add(streamUnderruns_.exchange(0), std::memory_order_relaxed);
  // After this nobody writes into the slots any more; the buffers inside are deleted, and the slots come
  // home. Aravis' thread is started again, without buffers, because the end of a stream takes it for granted.
  arv_stream_stop_thread(stream_, TRUE);
  arv_stream_start_thread(stream_);
  for (ArvBuffer*& buffer : buffers_) g_clear_object(&buffer);
  ring_->reclaim();
}

void GenicamCamera::closeDevice() noexcept {
  stopStream();
  if (camera_ == nullptr) return;
  // There is none when the camera turned out to be another program's.
  if (control_ != nullptr) {
    const std::lock_guard<std::mutex> lock(control_->mutex);
    control_->owner = nullptr;
  }
  control_.reset();
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> gone = done->get_future();
  const bool stops = stream_ != nullptr && !lost();
  std::thread goodbye(
      [done, stops, camera = std::exchange(camera_, nullptr), stream = std::exchange(stream_, nullptr)] {
        if (stops) {
          GError* error = nullptr;
          arv_camera_stop_acquisition(camera, &error);
          g_clear_error(&error);
        }
        // The last references: these end Aravis' threads and give control back.
        if (stream != nullptr) g_object_unref(stream);
        g_object_unref(camera);
        done->set_value();
      });
  // A camera that lives is left properly, in milliseconds. To a dead one Aravis talks for up to 13 s: nobody
  // waits.
  gone.wait_for(kGoodbye);
  goodbye.detach();
}

void GenicamCamera::close() noexcept {
  cancel();
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  closeDevice();
  lost_.store(false, std::memory_order_release);
}

double GenicamCamera::feature(const std::string& name) {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  requireOpen();
  return readFeature(device(), options_.name, name);
}

FeatureRange GenicamCamera::featureRange(const std::string& name) {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  requireOpen();
  return grabber::featureRange(device(), options_.name, name);
}

double GenicamCamera::setFeature(const std::string& name, double value) {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  requireOpen();
  if (stream_ != nullptr && sizeFeatures().count(name) != 0) {
    throw GrabberError(GrabberFault::usage,
                       options_.name + ": " + name + " cannot change while frames are coming");
  }
  const double held = writeFeature(device(), options_.name, name, value);
  noteTiming();
  return held;
}

Counters GenicamCamera::counters() const {
  Counters counters = ring_->counters();
  counters.incomplete = incomplete_.load(std::memory_order_relaxed);
  counters.gaps = gaps_.load(std::memory_order_relaxed);
  counters.underruns =
      underruns_.load(std::memory_order_relaxed) + streamUnderruns_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace surgiclaw::grabber
