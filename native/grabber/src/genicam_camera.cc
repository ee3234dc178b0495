#include "genicam_camera.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "genicam_features.h"
#include "genicam_setup.h"
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
/// A triggered frame that is not there after its exposure and this much more is not coming.
constexpr uint64_t kTriggerPatienceNs = 2 * realtime::kNsPerSecond;

/// Changing these would change the size of a frame under way.
const std::set<std::string>& sizeFeatures() {
  static const auto* const names = new std::set<std::string>{
      "Width",           "Height",           "OffsetX", "OffsetY", "PixelFormat", "BinningHorizontal",
      "BinningVertical", "GevSCPSPacketSize"};
  return *names;
}

}  // namespace

// A small ring is shared out evenly: as many slots for leases as for the stream.
GenicamCamera::GenicamCamera(const CameraOptions& options)
    : RingCamera(options, std::clamp(genicamBuffers(options.frameRate), FrameRing::kReserve,
                                     std::max(FrameRing::kReserve, options.ringSize / 2))) {}

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
      configureGenicam(camera_, options_);
      latestBeginNs_.store(genicamLatestBeginNs(camera_, options_));
      lost_.store(false, std::memory_order_release);
      return genicamIdentity(camera_, options_.name);
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

void GenicamCamera::start() {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  requireOpen();
  if (stream_ != nullptr) throw GrabberError(GrabberFault::usage, options_.name + " streams already");
  if (lost())
    throw GrabberError(GrabberFault::offline, options_.name + " was lost; close it and open it again");
  triggers_.clear();
  triggers_.setPatience(latestBeginNs_.load() + kTriggerPatienceNs);
  auto stream = std::make_unique<GenicamStream>(options_, ring_, triggers_, counts_, latestBeginNs_);
  stream->start(camera_);
  stream_ = std::move(stream);
  started_.store(true);
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

void GenicamCamera::closeDevice() noexcept {
  started_.store(false);
  ArvStream* const ending = stream_ == nullptr ? nullptr : stream_->end();
  stream_.reset();
  triggers_.clear();
  if (camera_ == nullptr) return;
  // There is none when the camera turned out to be another program's.
  if (control_ != nullptr) {
    const std::lock_guard<std::mutex> lock(control_->mutex);
    control_->owner = nullptr;
  }
  control_.reset();
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> gone = done->get_future();
  const bool stops = ending != nullptr && !lost();
  std::thread goodbye([done, stops, ending, camera = std::exchange(camera_, nullptr)] {
    if (stops) {
      GError* error = nullptr;
      arv_camera_stop_acquisition(camera, &error);
      g_clear_error(&error);
    }
    // The last references: these end Aravis' threads and give control back.
    if (ending != nullptr) g_object_unref(ending);
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
  latestBeginNs_.store(genicamLatestBeginNs(camera_, options_));
  triggers_.setPatience(latestBeginNs_.load() + kTriggerPatienceNs);
  return held;
}

uint64_t GenicamCamera::trigger() {
  const std::lock_guard<std::mutex> lock(deviceMutex_);
  requireOpen();
  if (!softwareTriggered()) {
    throw GrabberError(GrabberFault::usage, options_.name + " does not wait for software triggers");
  }
  if (stream_ == nullptr) throw GrabberError(GrabberFault::usage, options_.name + " is not started");
  if (lost()) throw GrabberError(GrabberFault::offline, options_.name + " was lost");
  // Noted before it is on the wire: the frame may be here before the acknowledgement.
  const uint64_t number = triggers_.fired(realtime::monotonicNs());
  GError* error = nullptr;
  arv_camera_software_trigger(camera_, &error);
  if (error != nullptr) {
    triggers_.refused(number);
    throwIf(error, options_.name + ": software trigger");
  }
  return number;
}

uint64_t GenicamCamera::silenceNs() const {
  if (!softwareTriggered()) return ring_->silenceNs();
  return started_.load() ? triggers_.waitingNs(realtime::monotonicNs())
                         : std::numeric_limits<uint64_t>::max();
}

Counters GenicamCamera::counters() const {
  Counters counters = RingCamera::counters();
  counters.missingPackets = counts_.missingPackets.load(std::memory_order_relaxed);
  counters.resentPackets = counts_.resentPackets.load(std::memory_order_relaxed);
  counters.unansweredTriggers = triggers_.unanswered();
  return counters;
}

}  // namespace surgiclaw::grabber
