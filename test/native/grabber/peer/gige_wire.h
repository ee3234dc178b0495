// Numbers of GigE Vision 1.2 as they stand on the wire (big-endian): control protocol (GVCP), stream protocol
// (GVSP) and bootstrap registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surgiclaw::peer {

constexpr int kGvcpPort = 3956;

namespace gvcp {
constexpr uint8_t kKey = 0x42;
constexpr size_t kHeader = 8;
constexpr uint8_t kFlagAcknowledge = 0x01;
constexpr uint16_t kDiscovery = 0x0002;
constexpr uint16_t kPacketResend = 0x0040;
constexpr uint16_t kReadRegister = 0x0080;
constexpr uint16_t kWriteRegister = 0x0082;
constexpr uint16_t kReadMemory = 0x0084;
constexpr uint16_t kWriteMemory = 0x0086;
/// An acknowledgement has the number of its command plus one.
constexpr uint16_t acknowledgeOf(uint16_t command) { return static_cast<uint16_t>(command + 1); }
/// What a discovery acknowledgement carries: the registers from 0 on.
constexpr size_t kDiscoveryBytes = 0xf8;
}  // namespace gvcp

enum class Status : uint16_t {
  success = 0x0000,
  resent = 0x0100,
  notImplemented = 0x8001,
  invalidParameter = 0x8002,
  invalidAddress = 0x8003,
  writeProtected = 0x8004,
  accessDenied = 0x8006,
  packetUnavailable = 0x800c,
};

namespace gvsp {
constexpr size_t kHeader = 8;
/// IP, UDP and GVSP headers, which the packet size counts in.
constexpr size_t kOverhead = 20 + 8 + kHeader;
constexpr uint8_t kLeader = 1;
constexpr uint8_t kTrailer = 2;
constexpr uint8_t kPayload = 3;
constexpr uint16_t kImage = 0x0001;
/// Block ids run 1…65535.
constexpr uint16_t nextBlock(uint16_t id) { return id == 0xffff ? 1 : static_cast<uint16_t>(id + 1); }
}  // namespace gvsp

namespace bootstrap {
constexpr uint32_t kVersion = 0x0000;
constexpr uint32_t kDeviceMode = 0x0004;
constexpr uint32_t kCurrentAddress = 0x0024;
constexpr uint32_t kSubnetMask = 0x0034;
constexpr uint32_t kManufacturer = 0x0048;
constexpr uint32_t kModel = 0x0068;
constexpr uint32_t kDeviceVersion = 0x0088;
constexpr uint32_t kSerial = 0x00d8;
constexpr uint32_t kFirstUrl = 0x0200;
constexpr uint32_t kInterfaces = 0x0600;
constexpr uint32_t kStreamChannels = 0x0904;
constexpr uint32_t kCapability = 0x0934;
constexpr uint32_t kHeartbeatTimeoutMs = 0x0938;
constexpr uint32_t kTickFrequencyHigh = 0x093c;
constexpr uint32_t kTickFrequencyLow = 0x0940;
constexpr uint32_t kControlPrivilege = 0x0a00;
constexpr uint32_t kStreamHostPort = 0x0d00;
constexpr uint32_t kStreamPacketSize = 0x0d04;
constexpr uint32_t kStreamPacketDelay = 0x0d08;
constexpr uint32_t kStreamAddress = 0x0d18;

constexpr uint32_t kCanWriteMemory = 1u << 1;
constexpr uint32_t kCanResend = 1u << 2;
constexpr uint32_t kHasSerial = 1u << 30;
constexpr uint32_t kFireTestPacket = 1u << 31;
}  // namespace bootstrap

inline uint16_t big16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }
inline uint32_t big32(const uint8_t* p) {
  return static_cast<uint32_t>(big16(p)) << 16 | static_cast<uint32_t>(big16(p + 2));
}

/// Bytes of a packet, written big-endian.
class Bytes {
 public:
  Bytes& u8(unsigned value) {
    bytes_.push_back(static_cast<uint8_t>(value));
    return *this;
  }
  Bytes& u16(unsigned value) { return u8(value >> 8 & 0xff).u8(value & 0xff); }
  Bytes& u32(uint32_t value) { return u16(value >> 16).u16(value & 0xffff); }
  Bytes& raw(const uint8_t* data, size_t size) {
    bytes_.insert(bytes_.end(), data, data + size);
    return *this;
  }
  const std::vector<uint8_t>& get() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace surgiclaw::peer
