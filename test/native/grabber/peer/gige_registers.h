// The memory of the camera: bootstrap registers, feature registers, and the XML file that describes the
// latter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gige_wire.h"

namespace surgiclaw::peer {

/// Feature registers, 32 bits each.
namespace feature {
constexpr uint32_t kBase = 0x10000;
constexpr uint32_t kSensorWidth = kBase + 0x00;
constexpr uint32_t kSensorHeight = kBase + 0x04;
constexpr uint32_t kWidth = kBase + 0x08;
constexpr uint32_t kHeight = kBase + 0x0c;
constexpr uint32_t kOffsetX = kBase + 0x10;
constexpr uint32_t kOffsetY = kBase + 0x14;
constexpr uint32_t kBinningHorizontal = kBase + 0x18;
constexpr uint32_t kBinningVertical = kBase + 0x1c;
constexpr uint32_t kPixelFormat = kBase + 0x20;
constexpr uint32_t kAcquisitionMode = kBase + 0x24;
constexpr uint32_t kAcquisition = kBase + 0x28;
constexpr uint32_t kFramePeriodUs = kBase + 0x2c;
constexpr uint32_t kTriggerSelector = kBase + 0x30;
constexpr uint32_t kTriggerMode = kBase + 0x34;
constexpr uint32_t kTriggerSource = kBase + 0x38;
constexpr uint32_t kTriggerActivation = kBase + 0x3c;
constexpr uint32_t kTriggerSoftware = kBase + 0x40;
constexpr uint32_t kExposureTime = kBase + 0x44;  ///< IEEE 754
constexpr uint32_t kGain = kBase + 0x48;          ///< IEEE 754
}  // namespace feature

struct CameraModel {
  std::string vendor = "Surgiclaw";
  std::string model = "Peer";
  std::string serial = "PEER1";
  uint32_t sensorWidth = 512;
  uint32_t sensorHeight = 384;
};

class GigeRegisters {
 public:
  GigeRegisters(const CameraModel& model, uint32_t address);
  uint32_t get(uint32_t address) const;
  float real(uint32_t address) const;
  /// Without any check: what the device itself writes.
  void set(uint32_t address, uint32_t value);
  /// As a controller writes: refused where the device would refuse it, read back unchanged then.
  Status write(uint32_t address, uint32_t value);
  Status read(uint32_t address, uint32_t count, std::vector<uint8_t>& bytes) const;
  void setModelName(const std::string& name);

 private:
  void text(uint32_t address, size_t room, const std::string& value);

  std::vector<uint8_t> memory_;
  std::string xml_;
};

/// Where the XML file begins.
constexpr uint32_t kXmlAddress = 0x100000;
std::string genicamXml(const CameraModel& model);

}  // namespace surgiclaw::peer
