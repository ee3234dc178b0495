#include "camera_service.h"

#include <arv.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace surgiclaw::optics {
namespace {

// Bootstrap registers of GigE Vision.
constexpr std::uint32_t kModelName = 0x68;
constexpr std::size_t kModelNameRoom = 32;
constexpr std::uint32_t kSerialNumber = 0xd8;
constexpr std::size_t kSerialNumberRoom = 16;
constexpr std::uint32_t kControlPrivilege = 0xa00;

/// The fake camera looks for a trigger only this often; 200 Hz brings a triggered frame within about 10 ms.
constexpr double kTriggerHz = 200;

}  // namespace

CameraService::CameraService(const Scene& scene, std::size_t camera, const std::string& statePath,
                             std::shared_ptr<const NoiseTile> noise)
    : scene_(scene), camera_(camera), renderer_(scene, camera, std::move(noise)), reader_(statePath) {
  timesMs_.reserve(4096);
}

CameraService::~CameraService() { powerDown(); }

void CameraService::powerUp() {
  if (device_ != nullptr) return;
  const CameraScene& settings = scene_.cameras[camera_];
  ArvGvFakeCamera* device = arv_gv_fake_camera_new(settings.address.c_str(), settings.serial.c_str());
  if (!arv_gv_fake_camera_is_running(device)) {
    g_object_unref(device);
    throw SceneError("camera " + settings.serial + " cannot serve at " + settings.address +
                     " port 3956: is another camera server running?");
  }
  ArvFakeCamera* registers = arv_gv_fake_camera_get_fake_camera(device);
  const auto set = [registers](guint32 address, double value) {
    arv_fake_camera_write_register(registers, address, static_cast<guint32>(value));
  };
  set(ARV_FAKE_CAMERA_REGISTER_WIDTH, kSensorSize);
  set(ARV_FAKE_CAMERA_REGISTER_HEIGHT, kSensorSize);
  set(ARV_FAKE_CAMERA_REGISTER_EXPOSURE_TIME_US, settings.startExposureUs);
  set(ARV_FAKE_CAMERA_REGISTER_GAIN_RAW, settings.startGainRaw);
  set(ARV_FAKE_CAMERA_REGISTER_ACQUISITION_FRAME_PERIOD_US, 1e6 / settings.frameRate);
  arv_fake_camera_set_trigger_frequency(registers, kTriggerHz);
  frozen_ = false;
  arv_fake_camera_set_fill_pattern(registers, &CameraService::fill, this);
  device_ = device;
  g_object_set(device, "gvsp-lost-ratio", lostRatio_, nullptr);
  if (!model_.empty()) writeText(kModelName, kModelNameRoom, model_);
  if (!serialShown_.empty()) writeText(kSerialNumber, kSerialNumberRoom, serialShown_);
}

void CameraService::powerDown() {
  if (device_ == nullptr) return;
  // Ends the camera's thread and closes its sockets.
  g_object_unref(device_);
  device_ = nullptr;
}

void CameraService::writeText(std::uint32_t address, std::size_t room, const std::string& text) {
  std::vector<char> padded(room, 0);
  std::copy_n(text.begin(), std::min(text.size(), room - 1), padded.begin());
  arv_fake_camera_write_memory(arv_gv_fake_camera_get_fake_camera(device_), address,
                               static_cast<guint32>(room), padded.data());
}

bool CameraService::fault(const std::string& what, const std::string& value) {
  const bool on = value == "on";
  ArvFakeCamera* const registers = device_ == nullptr ? nullptr : arv_gv_fake_camera_get_fake_camera(device_);
  if (what == "lose") {
    lostRatio_ = std::strtod(value.c_str(), nullptr) / 1000;
    if (device_ != nullptr) g_object_set(device_, "gvsp-lost-ratio", lostRatio_, nullptr);
  } else if (what == "stall") {
    // Not to be started for a client that did not ask.
    if (registers != nullptr && on != stalled_) {
      arv_fake_camera_write_register(registers, ARV_FAKE_CAMERA_REGISTER_ACQUISITION, on ? 0 : 1);
    }
    stalled_ = on && registers != nullptr;
  } else if (what == "revoke") {
    if (registers != nullptr) arv_fake_camera_write_register(registers, kControlPrivilege, 0);
  } else if (what == "model") {
    model_ = value;
    if (device_ != nullptr) writeText(kModelName, kModelNameRoom, model_);
  } else if (what == "serial") {
    serialShown_ = value;
    if (device_ != nullptr) writeText(kSerialNumber, kSerialNumberRoom, serialShown_);
  } else if (what == "clock") {
    clockOffsetNs_.store(static_cast<std::int64_t>(std::strtod(value.c_str(), nullptr) * 1e9));
  } else if (what == "exposure") {
    if (registers != nullptr) {
      arv_fake_camera_write_register(registers, ARV_FAKE_CAMERA_REGISTER_EXPOSURE_TIME_US,
                                     static_cast<guint32>(std::strtod(value.c_str(), nullptr)));
    }
  } else if (what == "slow") {
    slowMs_.store(static_cast<int>(std::strtol(value.c_str(), nullptr, 10)));
  } else {
    return false;
  }
  return true;
}

RenderTimes CameraService::takeTimes() {
  std::vector<float> times;
  {
    const std::lock_guard<std::mutex> lock(timesLock_);
    times.swap(timesMs_);
    timesMs_.reserve(4096);
  }
  if (times.empty()) return {0, 0, 0};
  std::sort(times.begin(), times.end());
  const auto at = [&times](double share) {
    return static_cast<double>(
        times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
  };
  return {times.size(), at(0.5), at(0.99)};
}

void CameraService::fill(ArvBuffer* buffer, void* self, std::uint32_t exposureUs, std::uint32_t gain,
                         std::uint32_t pixelFormat) {
  if (buffer == nullptr || pixelFormat != ARV_PIXEL_FORMAT_MONO_8) return;
  static_cast<CameraService*>(self)->draw(buffer, exposureUs, gain);
}

void CameraService::draw(ArvBuffer* buffer, double exposureUs, double gainRaw) {
  const auto start = std::chrono::steady_clock::now();
  // The buffer says that it has no bytes, yet its pointer and its region are right.
  size_t size = 0;
  auto* pixels = static_cast<std::uint8_t*>(const_cast<void*>(arv_buffer_get_data(buffer, &size)));
  gint x = 0, y = 0, width = 0, height = 0;
  arv_buffer_get_image_region(buffer, &x, &y, &width, &height);
  if (pixels == nullptr || width < 1 || height < 1) return;
  const std::int64_t offset = clockOffsetNs_.load();
  if (offset != 0) {
    arv_buffer_set_timestamp(buffer, arv_buffer_get_timestamp(buffer) + static_cast<std::uint64_t>(offset));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(slowMs_.load()));

  const bool wasFrozen = frozen_;
  SceneState newest = state_;
  try {
    reader_.read(newest);
  } catch (const StateError&) {
    // Not a state that can be drawn: the last good one stands.
    newest = state_;
  }
  frozen_ = newest.cameras[camera_].frozen;
  ++frames_;
  if (!(frozen_ && wasFrozen)) {
    state_ = std::move(newest);
    shot_.exposureUs = exposureUs;
    shot_.gainRaw = gainRaw;
    shot_.frameNumber = frames_;
  }
  Region region;
  region.width = std::min(width, kSensorSize);
  region.height = std::min(height, kSensorSize);
  region.x = std::clamp(x, 0, kSensorSize - region.width);
  region.y = std::clamp(y, 0, kSensorSize - region.height);
  // A client may write a size beyond the sensor, as to the real fake camera: what is not sensor stays black.
  if (region.width != width || region.height != height) {
    std::memset(pixels, 0, static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  } else {
    shot_.region = region;
    renderer_.render(state_, shot_, pixels);
  }
  const std::chrono::duration<float, std::milli> took = std::chrono::steady_clock::now() - start;
  const std::lock_guard<std::mutex> lock(timesLock_);
  if (timesMs_.size() < timesMs_.capacity()) timesMs_.push_back(took.count());
}

}  // namespace surgiclaw::optics
