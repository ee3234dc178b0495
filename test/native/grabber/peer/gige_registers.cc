#include "gige_registers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace surgiclaw::peer {

namespace {

constexpr uint32_t kMemory = 0x20000;
constexpr uint32_t kFormats[] = {0x01080001, 0x01100003, 0x010C0004, 0x010A0046, 0x01100005,
                                 0x010C0006, 0x010C0047, 0x01100025, 0x01100007, 0x02100032};

uint32_t bitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

}  // namespace

GigeRegisters::GigeRegisters(const CameraModel& model, uint32_t address)
    : memory_(kMemory, 0), xml_(genicamXml(model)) {
  set(bootstrap::kVersion, 0x00010002);
  set(bootstrap::kDeviceMode, 0x80000001);  // big-endian, UTF-8
  set(bootstrap::kCurrentAddress, address);
  set(bootstrap::kSubnetMask, 0xff000000);
  text(bootstrap::kManufacturer, 32, model.vendor);
  text(bootstrap::kModel, 32, model.model);
  text(bootstrap::kDeviceVersion, 32, "1.0");
  text(bootstrap::kSerial, 16, model.serial);
  char url[96];
  std::snprintf(url, sizeof(url), "Local:peer.xml;%x;%zx", kXmlAddress, xml_.size());
  text(bootstrap::kFirstUrl, 512, url);
  set(bootstrap::kInterfaces, 1);
  set(bootstrap::kStreamChannels, 1);
  set(bootstrap::kCapability, bootstrap::kCanWriteMemory | bootstrap::kCanResend | bootstrap::kHasSerial);
  set(bootstrap::kHeartbeatTimeoutMs, 3000);
  set(bootstrap::kTickFrequencyLow, 1'000'000'000);
  set(bootstrap::kStreamPacketSize, 1400);
  set(feature::kSensorWidth, model.sensorWidth);
  set(feature::kSensorHeight, model.sensorHeight);
  set(feature::kWidth, model.sensorWidth);
  set(feature::kHeight, model.sensorHeight);
  set(feature::kBinningHorizontal, 1);
  set(feature::kBinningVertical, 1);
  set(feature::kPixelFormat, kFormats[0]);
  set(feature::kFramePeriodUs, 40'000);
  set(feature::kExposureTime, bitsOf(5000));
  set(feature::kGain, bitsOf(0));
}

void GigeRegisters::text(uint32_t address, size_t room, const std::string& value) {
  std::memset(memory_.data() + address, 0, room);
  std::memcpy(memory_.data() + address, value.data(), std::min(room - 1, value.size()));
}

void GigeRegisters::setModelName(const std::string& name) { text(bootstrap::kModel, 32, name); }

uint32_t GigeRegisters::get(uint32_t address) const { return big32(memory_.data() + address); }

float GigeRegisters::real(uint32_t address) const {
  const uint32_t bits = get(address);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

void GigeRegisters::set(uint32_t address, uint32_t value) {
  for (uint32_t i = 0; i < 4; ++i) memory_[address + i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

Status GigeRegisters::write(uint32_t address, uint32_t value) {
  const auto within = [value](uint32_t low, uint32_t high, uint32_t step = 1) {
    return value >= low && value <= high && (value - low) % step == 0;
  };
  const uint32_t width = get(feature::kSensorWidth) / get(feature::kBinningHorizontal);
  const uint32_t height = get(feature::kSensorHeight) / get(feature::kBinningVertical);
  bool good = true;
  switch (address) {
    case feature::kSensorWidth:
    case feature::kSensorHeight:
      return Status::writeProtected;
    case feature::kWidth:
      good = within(16, width - get(feature::kOffsetX), 8);
      break;
    case feature::kHeight:
      good = within(16, height - get(feature::kOffsetY), 2);
      break;
    case feature::kOffsetX:
      good = within(0, width - get(feature::kWidth), 8);
      break;
    case feature::kOffsetY:
      good = within(0, height - get(feature::kHeight), 2);
      break;
    case feature::kBinningHorizontal:
    case feature::kBinningVertical:
      good = value == 1 || value == 2 || value == 4;
      break;
    case feature::kPixelFormat:
      good = std::find(std::begin(kFormats), std::end(kFormats), value) != std::end(kFormats);
      break;
    case feature::kFramePeriodUs:
      good = within(1000, 10'000'000);
      break;
    case bootstrap::kStreamPacketSize:
      good = (value & 0xffff) >= 576;
      break;
    default:
      if (address < bootstrap::kHeartbeatTimeoutMs) return Status::writeProtected;
      if (address + 4 > kMemory || address % 4 != 0) return Status::invalidAddress;
      break;
  }
  // Nobody may change the size of a frame under way.
  if (get(feature::kAcquisition) != 0 && address >= feature::kWidth && address <= feature::kPixelFormat) {
    return Status::accessDenied;
  }
  if (!good) return Status::invalidParameter;
  set(address, value);
  if (address == feature::kBinningHorizontal || address == feature::kBinningVertical) {
    set(feature::kOffsetX, 0);
    set(feature::kOffsetY, 0);
    set(feature::kWidth, get(feature::kSensorWidth) / get(feature::kBinningHorizontal));
    set(feature::kHeight, get(feature::kSensorHeight) / get(feature::kBinningVertical));
  }
  return Status::success;
}

Status GigeRegisters::read(uint32_t address, uint32_t count, std::vector<uint8_t>& bytes) const {
  bytes.assign(count, 0);
  if (address >= kXmlAddress) {
    // The last block of the file may reach beyond its end.
    const size_t at = address - kXmlAddress;
    if (at >= xml_.size()) return Status::invalidAddress;
    std::memcpy(bytes.data(), xml_.data() + at, std::min<size_t>(count, xml_.size() - at));
    return Status::success;
  }
  if (static_cast<uint64_t>(address) + count > kMemory) return Status::invalidAddress;
  std::memcpy(bytes.data(), memory_.data() + address, count);
  return Status::success;
}

}  // namespace surgiclaw::peer
