#include "gige_camera.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace surgiclaw::peer {

namespace {

constexpr size_t kKeptFrames = 8;

uint64_t clockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

int udpSocket(in_addr address, uint16_t port) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr = address;
  local.sin_port = htons(port);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof(local)) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    throw std::runtime_error("port " + std::to_string(port) + ": " + why);
  }
  const int bytes = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  return fd;
}

in_addr parsed(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) throw std::runtime_error(text + " is no IPv4 address");
  return address;
}

bool same(const sockaddr_in& a, const sockaddr_in& b) {
  return a.sin_addr.s_addr == b.sin_addr.s_addr && a.sin_port == b.sin_port;
}

/// Appends values of `bits` significant bits to a stream, the least significant bit first.
class BitStream {
 public:
  void put(uint32_t value, int bits) {
    for (int i = 0; i < bits; ++i, ++used_) {
      if (used_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() = static_cast<uint8_t>(bytes_.back() | (value >> i & 1U) << (used_ % 8));
    }
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
  size_t used_ = 0;
};

/// `greys` in the layout of a pixel format. The bits below the eight of the grey are all ones: whoever rounds
/// instead of cutting them off is found out.
std::vector<uint8_t> encode(uint32_t format, const std::vector<uint8_t>& greys) {
  std::vector<uint8_t> wire;
  const auto deep = [](uint8_t grey, int bits) {
    return static_cast<uint32_t>(grey) << (bits - 8) | ((1U << (bits - 8)) - 1);
  };
  switch (format) {
    case 0x01080001:
      return greys;
    case 0x01100003:
    case 0x01100005:
    case 0x01100025:
    case 0x01100007: {
      const int bits = format == 0x01100003 ? 10 : format == 0x01100005 ? 12 : format == 0x01100025 ? 14 : 16;
      for (const uint8_t grey : greys) {
        const uint32_t value = deep(grey, bits);
        wire.push_back(static_cast<uint8_t>(value & 0xff));
        wire.push_back(static_cast<uint8_t>(value >> 8));
      }
      return wire;
    }
    case 0x010C0004:
    case 0x010C0006: {
      const int low = format == 0x010C0004 ? 2 : 4;
      const auto ones = static_cast<uint8_t>((1 << low) - 1);
      for (size_t i = 0; i + 1 < greys.size(); i += 2) {
        wire.push_back(greys[i]);
        wire.push_back(static_cast<uint8_t>(ones | ones << 4));
        wire.push_back(greys[i + 1]);
      }
      return wire;
    }
    case 0x010A0046:
    case 0x010C0047: {
      const int bits = format == 0x010A0046 ? 10 : 12;
      BitStream stream;
      for (const uint8_t grey : greys) stream.put(deep(grey, bits), bits);
      return stream.take();
    }
    default:  // YUV 4:2:2: Y U Y V, grey without colour
      for (const uint8_t grey : greys) {
        wire.push_back(grey);
        wire.push_back(128);
      }
      return wire;
  }
}

}  // namespace

GigeCamera::GigeCamera(const std::string& address, const CameraModel& model, uint16_t firstBlock)
    : registers_(model, ntohl(parsed(address).s_addr)),
      block_(firstBlock == 1 ? 0xffff : static_cast<uint16_t>(firstBlock - 1)) {
  controlSocket_ = udpSocket(parsed(address), kGvcpPort);
  streamSocket_ = udpSocket(parsed(address), 0);
  control_ = std::thread([this] { serveControl(); });
  stream_ = std::thread([this] { serveStream(); });
}

GigeCamera::~GigeCamera() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    woken_.notify_all();
  }
  control_.join();
  stream_.join();
  close(controlSocket_);
  close(streamSocket_);
}

void GigeCamera::revokeControl() {
  const std::lock_guard<std::mutex> lock(mutex_);
  registers_.set(bootstrap::kControlPrivilege, 0);
  registers_.set(feature::kAcquisition, 0);
  controller_ = {};
}

void GigeCamera::setModelName(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  registers_.setModelName(name);
}

void GigeCamera::pulseLine() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (registers_.get(feature::kTriggerSource) != 1) return;
  ++triggers_;
  woken_.notify_all();
}

uint32_t GigeCamera::registerValue(uint32_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return registers_.get(address);
}

GigeCamera::Tally GigeCamera::tally() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tally_;
}

void GigeCamera::serveControl() {
  std::vector<uint8_t> packet(65536);
  for (;;) {
    pollfd waiting{controlSocket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, 20);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (ending_) return;
      const uint64_t silence = clockNs(CLOCK_MONOTONIC) - controllerSeenNs_;
      const uint64_t limit =
          static_cast<uint64_t>(registers_.get(bootstrap::kHeartbeatTimeoutMs)) * 1'000'000;
      if (registers_.get(bootstrap::kControlPrivilege) != 0 && silence > limit) {
        registers_.set(bootstrap::kControlPrivilege, 0);
        registers_.set(feature::kAcquisition, 0);
        controller_ = {};
      }
      if (ready > 0 && faults_.mute) {
        recv(controlSocket_, packet.data(), packet.size(), 0);
        continue;
      }
    }
    if (ready <= 0) continue;
    sockaddr_in from{};
    socklen_t length = sizeof(from);
    const ssize_t size = recvfrom(controlSocket_, packet.data(), packet.size(), 0,
                                  reinterpret_cast<sockaddr*>(&from), &length);
    if (size >= static_cast<ssize_t>(gvcp::kHeader)) {
      answer(std::vector<uint8_t>(packet.begin(), packet.begin() + size), from);
    }
  }
}

void GigeCamera::answer(const std::vector<uint8_t>& request, const sockaddr_in& from) {
  const uint16_t command = big16(&request[2]);
  const size_t size = big16(&request[4]);
  if (request[0] != gvcp::kKey || size != request.size() - gvcp::kHeader) return;
  std::vector<uint8_t> body;
  Status status = Status::success;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (same(from, controller_)) controllerSeenNs_ = clockNs(CLOCK_MONOTONIC);
    status = obey(command, request.data() + gvcp::kHeader, size, from, body);
  }
  if ((request[1] & gvcp::kFlagAcknowledge) == 0) return;
  bool hit = false;
  CameraFaults::Answer fault{};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    hit = ++tally_.answers == faults_.answerNumber;
    fault = faults_.answer;
  }
  using Answer = CameraFaults::Answer;
  if (hit && fault == Answer::lost) return;
  if (hit && fault == Answer::refused) status = Status::accessDenied;
  if (status != Status::success) body.clear();
  Bytes reply;
  reply.u16(static_cast<unsigned>(status)).u16(gvcp::acknowledgeOf(command));
  reply.u16(static_cast<unsigned>(body.size())).raw(&request[6], 2).raw(body.data(), body.size());
  std::vector<uint8_t> bytes(reply.get().begin(), reply.get().end());
  if (hit && fault == Answer::garbageBefore) sendAnswer({0xff, 0xfe, 0x00, 0x0d, 0x0a}, from);
  if (hit && fault == Answer::repeated) sendAnswer(bytes, from);
  if (hit && fault == Answer::cut) bytes.resize(5);
  sendAnswer(bytes, from);
}

void GigeCamera::sendAnswer(const std::vector<uint8_t>& reply, const sockaddr_in& to) {
  sendto(controlSocket_, reply.data(), reply.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}

Status GigeCamera::obey(uint16_t command, const uint8_t* body, size_t size, const sockaddr_in& from,
                        std::vector<uint8_t>& reply) {
  Bytes out;
  Status status = Status::success;
  switch (command) {
    case gvcp::kDiscovery:
      return registers_.read(0, gvcp::kDiscoveryBytes, reply);
    case gvcp::kReadRegister:
      for (size_t at = 0; at + 4 <= size; at += 4) {
        std::vector<uint8_t> value;
        status = registers_.read(big32(body + at), 4, value);
        if (status != Status::success) return status;
        out.raw(value.data(), 4);
      }
      break;
    case gvcp::kWriteRegister: {
      unsigned written = 0;
      for (size_t at = 0; at + 8 <= size && status == Status::success; at += 8, ++written) {
        status = writeRegister(big32(body + at), big32(body + at + 4), from);
      }
      out.u16(0).u16(written);
      break;
    }
    case gvcp::kReadMemory: {
      if (size < 8) return Status::invalidParameter;
      std::vector<uint8_t> bytes;
      status = registers_.read(big32(body), big16(body + 6), bytes);
      out.raw(body, 4).raw(bytes.data(), bytes.size());
      break;
    }
    case gvcp::kWriteMemory: {
      if (size < 8 || size % 4 != 0) return Status::invalidParameter;
      for (size_t at = 4; at + 4 <= size && status == Status::success; at += 4) {
        status = writeRegister(big32(body) + static_cast<uint32_t>(at - 4), big32(body + at), from);
      }
      out.u16(0).u16(static_cast<unsigned>(size - 4));
      break;
    }
    case gvcp::kPacketResend:
      if (size < 12) return Status::invalidParameter;
      resend(body);
      break;
    default:
      return Status::notImplemented;
  }
  reply = out.get();
  return status;
}

Status GigeCamera::writeRegister(uint32_t address, uint32_t value, const sockaddr_in& from) {
  const bool held = registers_.get(bootstrap::kControlPrivilege) != 0;
  if (held && !same(from, controller_)) return Status::accessDenied;
  if (address == bootstrap::kControlPrivilege) {
    registers_.set(address, value);
    controller_ = value != 0 ? from : sockaddr_in{};
    controllerSeenNs_ = clockNs(CLOCK_MONOTONIC);
    if (value == 0) registers_.set(feature::kAcquisition, 0);
    return Status::success;
  }
  if (!held) return Status::accessDenied;
  if (address == bootstrap::kStreamPacketSize) {
    const uint32_t size = faults_.sizeHeldInstead != 0 ? faults_.sizeHeldInstead : value & 0xffff;
    const Status status = registers_.write(address, size);
    if (status == Status::success && (value & bootstrap::kFireTestPacket) != 0) fireTestPacket(size);
    return status;
  }
  if (address == feature::kTriggerSoftware) {
    if (registers_.get(feature::kAcquisition) == 0 || registers_.get(feature::kTriggerSource) != 0) {
      return Status::accessDenied;
    }
    ++triggers_;
    woken_.notify_all();
    return Status::success;
  }
  if (address == feature::kAcquisition && value != 0) {
    number_ = 0;
    triggers_ = 0;
  }
  const Status status = registers_.write(address, value);
  woken_.notify_all();
  return status;
}

sockaddr_in GigeCamera::destination() const {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(registers_.get(bootstrap::kStreamAddress));
  to.sin_port = htons(static_cast<uint16_t>(registers_.get(bootstrap::kStreamHostPort)));
  return to;
}

void GigeCamera::fireTestPacket(uint32_t size) {
  if (size > faults_.linkBytes || size < gvsp::kOverhead) return;
  const std::vector<uint8_t> packet(size - (gvsp::kOverhead - gvsp::kHeader), 0);
  const sockaddr_in to = destination();
  sendto(streamSocket_, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}

bool GigeCamera::triggered() const { return registers_.get(feature::kTriggerMode) != 0; }

void GigeCamera::serveStream() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock<std::mutex> lock(mutex_);
  auto due = Clock::now();
  while (!ending_) {
    const bool streams = registers_.get(feature::kAcquisition) != 0 && !faults_.stalled;
    if (!streams || (triggered() && triggers_ == 0)) {
      woken_.wait_for(lock, std::chrono::milliseconds(50));
      due = Clock::now();
      continue;
    }
    if (triggered()) {
      --triggers_;
    } else {
      due = std::max(due + std::chrono::microseconds(registers_.get(feature::kFramePeriodUs)), Clock::now());
      // Only a start, a stop or the end may change anything before the frame is due.
      if (woken_.wait_until(lock, due,
                            [this] { return ending_ || registers_.get(feature::kAcquisition) == 0; }))
        continue;
      if (faults_.stalled) continue;
    }
    const Frame frame = expose();
    if (faults_.skipped.count(frame.number) != 0) continue;
    sent_.push_back(frame);
    if (sent_.size() > kKeptFrames) sent_.pop_front();
    ++tally_.frames;
    const auto gap = std::chrono::nanoseconds(registers_.get(bootstrap::kStreamPacketDelay));
    const uint32_t last = frame.payloadPackets() + 1;
    for (uint32_t i = 0; i <= last && !ending_; ++i) {
      const bool payload = i > 0 && i < last;
      const uint32_t packet = faults_.reversed && payload ? last - i : i;
      for (int copy = faults_.doubled ? 2 : 1; copy > 0; --copy) {
        if (!lost(frame, packet, false)) sendPacket(frame, packet, Status::success);
      }
      // Control is answered between packets.
      lock.unlock();
      if (gap.count() > 0) std::this_thread::sleep_for(gap);
      lock.lock();
    }
  }
}

GigeCamera::Frame GigeCamera::expose() {
  Frame frame;
  frame.number = ++number_;
  block_ = gvsp::nextBlock(block_);
  frame.block = block_;
  frame.timestampNs =
      static_cast<uint64_t>(static_cast<int64_t>(clockNs(CLOCK_REALTIME)) + faults_.clockOffsetNs);
  frame.width = registers_.get(feature::kWidth);
  frame.height = registers_.get(feature::kHeight);
  frame.offsetX = registers_.get(feature::kOffsetX);
  frame.offsetY = registers_.get(feature::kOffsetY);
  frame.packetBytes = (registers_.get(bootstrap::kStreamPacketSize) & 0xffff) - gvsp::kOverhead;
  const uint64_t shown = faults_.frozen ? 0 : frame.number;
  std::vector<uint8_t> greys;
  greys.reserve(static_cast<size_t>(frame.width) * frame.height);
  for (uint32_t y = 0; y < frame.height; ++y) {
    for (uint32_t x = 0; x < frame.width; ++x) greys.push_back(grey(x, y, shown));
  }
  const uint32_t format = registers_.get(feature::kPixelFormat);
  frame.pixels = encode(format, greys);
  frame.format = faults_.otherFormat ? 0x01080009U : format;
  return frame;
}

bool GigeCamera::lost(const Frame& frame, uint32_t packet, bool again) {
  if (frame.packetBytes + gvsp::kOverhead > faults_.linkBytes && packet > 0 &&
      packet <= frame.payloadPackets()) {
    return true;
  }
  if (again && !faults_.losesResentToo) return false;
  if (faults_.dropped.count({frame.number, packet}) != 0) return true;
  // Marsaglia's xorshift: the same losses in every run.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return faults_.lossPermille > 0 && random_ % 100'000 < faults_.lossPermille * 100;
}

void GigeCamera::sendPacket(const Frame& frame, uint32_t packet, Status status) {
  const uint32_t last = frame.payloadPackets() + 1;
  Bytes bytes;
  const uint8_t kind = packet == 0 ? gvsp::kLeader : packet == last ? gvsp::kTrailer : gvsp::kPayload;
  bytes.u16(static_cast<unsigned>(status)).u16(frame.block).u8(kind).u8(packet >> 16).u16(packet & 0xffff);
  if (status == Status::packetUnavailable) {
    // The header alone.
  } else if (kind == gvsp::kLeader) {
    bytes.u16(0).u16(gvsp::kImage);
    bytes.u32(static_cast<uint32_t>(frame.timestampNs >> 32)).u32(static_cast<uint32_t>(frame.timestampNs));
    bytes.u32(frame.format).u32(frame.width).u32(frame.height).u32(frame.offsetX).u32(frame.offsetY).u32(0);
  } else if (kind == gvsp::kTrailer) {
    bytes.u16(0).u16(gvsp::kImage).u32(frame.height);
  } else {
    const size_t at = (packet - 1) * frame.packetBytes;
    bytes.raw(frame.pixels.data() + at, std::min(frame.packetBytes, frame.pixels.size() - at));
  }
  const sockaddr_in to = destination();
  sendto(streamSocket_, bytes.get().data(), bytes.get().size(), 0, reinterpret_cast<const sockaddr*>(&to),
         sizeof(to));
}

void GigeCamera::resend(const uint8_t* body) {
  const uint16_t block = big16(body + 2);
  const uint32_t first = big32(body + 4) & 0xffffff;
  const uint32_t last = big32(body + 8) & 0xffffff;
  ++tally_.resendRequests;
  if (faults_.resend == CameraFaults::Resend::silent) return;
  const auto found =
      std::find_if(sent_.begin(), sent_.end(), [block](const Frame& frame) { return frame.block == block; });
  if (found == sent_.end()) return;
  const bool answers = faults_.resend == CameraFaults::Resend::answers;
  for (uint32_t packet = first; packet <= std::min(last, found->payloadPackets() + 1); ++packet) {
    if (lost(*found, packet, true)) continue;
    sendPacket(*found, packet, answers ? Status::resent : Status::packetUnavailable);
    if (answers) ++tally_.resentPackets;
  }
}

}  // namespace surgiclaw::peer
