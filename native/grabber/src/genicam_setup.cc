#include "genicam_setup.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "genicam_features.h"
#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::grabber {

namespace {

/// Cameras that share a link may round the delay to ticks of their clock.
constexpr double kDelayToleranceUs = 1;

void setTrigger(ArvDevice* device, const CameraOptions& options) {
  const std::string& where = options.name;
  // Whatever was left on would hold frames back.
  if (hasFeature(device, "TriggerSelector")) writeSymbol(device, where, "TriggerSelector", "FrameStart");
  if (hasFeature(device, "TriggerMode")) writeSymbol(device, where, "TriggerMode", "Off");
  if (options.triggerSource.empty()) return;
  writeSymbol(device, where, "TriggerSource", options.triggerSource);
  if (!options.triggerActivation.empty()) {
    writeSymbol(device, where, "TriggerActivation", options.triggerActivation);
  }
  writeSymbol(device, where, "TriggerMode", "On");
}

void setRegion(ArvDevice* device, const CameraOptions& options) {
  const std::string& where = options.name;
  // Offsets first: they bound the size. Binning next: it bounds both.
  for (const char* offset : {"OffsetX", "OffsetY"}) {
    if (hasFeature(device, offset)) writeFeature(device, where, offset, 0);
  }
  for (const char* binning : {"BinningHorizontal", "BinningVertical"}) {
    if (options.binning != 1 || hasFeature(device, binning)) {
      writeFeature(device, where, binning, options.binning);
    }
  }
  writeFeature(device, where, "Width", options.width);
  writeFeature(device, where, "Height", options.height);
  if (options.offsetX != 0) writeFeature(device, where, "OffsetX", options.offsetX);
  if (options.offsetY != 0) writeFeature(device, where, "OffsetY", options.offsetY);
}

void setFrameRate(ArvDevice* device, const CameraOptions& options) {
  if (!options.triggerSource.empty()) return;
  const std::string& where = options.name;
  if (hasFeature(device, "AcquisitionFrameRateEnable")) {
    writeFeature(device, where, "AcquisitionFrameRateEnable", 1);
  }
  if (hasFeature(device, "AcquisitionFrameRate")) {
    writeFeature(device, where, "AcquisitionFrameRate", options.frameRate);
  }
}

void setPackets(ArvCamera* camera, const CameraOptions& options) {
  const std::string& where = options.name;
  GError* error = nullptr;
  // Aravis would otherwise replace the size by itself when its test packet is lost.
  arv_camera_gv_set_packet_size_adjustment(camera, ARV_GV_PACKET_SIZE_ADJUSTMENT_NEVER);
  if (options.packetSize == 0) {
    // Test packets of falling size until one comes through.
    arv_camera_gv_auto_packet_size(camera, &error);
    throwIf(error, where + ": negotiating the packet size");
  } else {
    arv_camera_gv_set_packet_size(camera, options.packetSize, &error);
    throwIf(error, where + ": packet size " + std::to_string(options.packetSize));
    const guint held = arv_camera_gv_get_packet_size(camera, &error);
    throwIf(error, where + ": reading the packet size");
    if (held != static_cast<guint>(options.packetSize)) {
      throw GrabberError(GrabberFault::feature, where + ": the packet size was set to " +
                                                    std::to_string(options.packetSize) + " and reads back " +
                                                    std::to_string(held));
    }
  }
  if (options.packetDelayUs > 0) {
    arv_camera_gv_set_packet_delay(camera, std::llround(options.packetDelayUs * 1e3), &error);
    throwIf(error, where + ": packet delay");
    const double heldUs = static_cast<double>(arv_camera_gv_get_packet_delay(camera, &error)) * 1e-3;
    throwIf(error, where + ": reading the packet delay");
    if (std::abs(heldUs - options.packetDelayUs) > kDelayToleranceUs) {
      throw GrabberError(GrabberFault::feature, where + ": the packet delay was set to " +
                                                    std::to_string(options.packetDelayUs) +
                                                    " us and reads back " + std::to_string(heldUs));
    }
  }
  // As root Aravis would use a packet socket, which gets nothing on loopback and says nothing.
  arv_camera_gv_set_stream_options(camera, ARV_GV_STREAM_OPTION_PACKET_SOCKET_DISABLED);
}

}  // namespace

void configureGenicam(ArvCamera* camera, const CameraOptions& options) {
  ArvDevice* const device = arv_camera_get_device(camera);
  // A camera that was left streaming refuses a change of its frame size.
  GError* error = nullptr;
  arv_camera_stop_acquisition(camera, &error);
  g_clear_error(&error);
  setTrigger(device, options);
  writeSymbol(device, options.name, "AcquisitionMode", "Continuous");
  writeSymbol(device, options.name, "PixelFormat", pixelFormatName(options.pixelFormat));
  setRegion(device, options);
  setFrameRate(device, options);
  if (arv_camera_is_gv_device(camera)) setPackets(camera, options);
}

uint64_t genicamLatestBeginNs(ArvCamera* camera, const CameraOptions& options) {
  ArvDevice* const device = arv_camera_get_device(camera);
  double exposureUs = 0;
  for (const char* name : {"ExposureTime", "ExposureTimeAbs", "ExposureTimeRaw"}) {
    if (!hasFeature(device, name)) continue;
    exposureUs = readFeature(device, options.name, name);
    break;
  }
  double rate = options.frameRate;
  if (hasFeature(device, "AcquisitionFrameRate")) {
    rate = readFeature(device, options.name, "AcquisitionFrameRate");
  }
  const double periodS = rate > 0 ? 1 / rate : 1;
  return static_cast<uint64_t>((std::max(0.0, exposureUs) * 1e-6 + periodS) * 1e9);
}

CameraIdentity genicamIdentity(ArvCamera* camera, const std::string& name) {
  GError* error = nullptr;
  const auto text = [&](const char* value, const char* what) {
    throwIf(std::exchange(error, nullptr), name + ": reading the " + what);
    return std::string(value == nullptr ? "" : value);
  };
  CameraIdentity identity;
  const char* value = arv_camera_get_vendor_name(camera, &error);
  identity.vendor = text(value, "vendor");
  value = arv_camera_get_model_name(camera, &error);
  identity.model = text(value, "model");
  value = arv_camera_get_device_serial_number(camera, &error);
  identity.serial = text(value, "serial number");
  return identity;
}

}  // namespace surgiclaw::grabber
