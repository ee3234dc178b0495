#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

#include "surgiclaw/guardian/stop_links.h"
#include "write_now.h"

namespace surgiclaw::guardian {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
constexpr uint64_t kMs = 1'000'000;
/// Above the 3.5 characters of silence that part two frames, down to 9600 bit/s (Modbus over Serial Line,
/// 2.5.1).
constexpr uint64_t kGapNs = 5 * kMs;
/// Time for the drive to come to rest: at 100 mm/s and 30 m/s² a stop takes 3.4 ms (stages-needle-cameras.md
/// C2).
constexpr uint64_t kRetractDelayNs = 20 * kMs;
constexpr uint64_t kRepeatNs = 150 * kMs;
constexpr int kRetractions = 3;
// The register map of src/cell/needle/modbus-codec.ts.
constexpr uint16_t kCommandRegister = 0;
constexpr uint16_t kTargetRegister = 1;
constexpr uint16_t kEstop = 2;
constexpr uint16_t kMove = 4;

uint16_t crc16(const unsigned char* bytes, size_t length) {
  uint16_t crc = 0xffff;
  for (size_t i = 0; i < length; ++i) {
    crc = static_cast<uint16_t>(crc ^ bytes[i]);
    for (int bit = 0; bit < 8; ++bit) {
      const bool low = (crc & 1U) != 0;
      crc = static_cast<uint16_t>(crc >> 1U);
      if (low) crc = static_cast<uint16_t>(crc ^ 0xa001U);
    }
  }
  return crc;
}

struct Frame {
  unsigned char bytes[16];
  size_t length = 0;
};

Frame sealed(std::initializer_list<int> body) {
  Frame frame;
  for (const int byte : body) frame.bytes[frame.length++] = static_cast<unsigned char>(byte);
  const uint16_t crc = crc16(frame.bytes, frame.length);
  frame.bytes[frame.length++] = static_cast<unsigned char>(crc & 0xffU);
  frame.bytes[frame.length++] = static_cast<unsigned char>(crc >> 8U);
  return frame;
}

Frame writeOne(int unit, uint16_t address, uint16_t value) {
  return sealed({unit, 6, address >> 8, address & 0xff, value >> 8, value & 0xff});
}

Frame writePair(int unit, uint16_t address, int32_t value) {
  const auto word = static_cast<uint32_t>(value);
  return sealed({unit, 16, address >> 8, address & 0xff, 0, 2, 4, static_cast<int>(word >> 24U),
                 static_cast<int>((word >> 16U) & 0xffU), static_cast<int>((word >> 8U) & 0xffU),
                 static_cast<int>(word & 0xffU)});
}

/// A Modbus RTU drive on a shared descriptor. The stop is sent at once, and once more after a gap: should the
/// daemon have left half a frame on the line, the drive drops the first one with it. The retraction goes to
/// an absolute position, so repeating it does no harm. Its speed is the one that the registers hold.
class NeedleModbusStop final : public StopLink {
 public:
  NeedleModbusStop(const NeedleModbus& port, ActionLog& log)
      : name_("needle fd " + std::to_string(port.fd)), log_(log), fd_(port.fd), unit_(port.unit) {
    if (::fcntl(fd_, F_GETFD) < 0) fd_ = -1;
  }

  const std::string& name() const override { return name_; }
  bool ready() const override { return fd_ >= 0; }
  pollfd interest() const override {
    const int waiting = inherited_ ? POLLIN : 0;
    return {fd_, static_cast<short>(waiting), 0};
  }

  void handle(short revents, uint64_t nowNs) override {
    if ((revents & POLLIN) != 0 && inherited_) {
      char bytes[128];
      const ssize_t got = ::read(fd_, bytes, sizeof bytes);
      if (got > 0) {
        take(bytes, static_cast<size_t>(got), nowNs);
      } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        fd_ = -1;
      }
    } else if ((revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      fd_ = -1;
    }
  }

  void stop(uint64_t nowNs, const NeedleOrder& needle) override {
    send(writeOne(unit_, kCommandRegister, kEstop), "stop_sent", "estop", nowNs);
    retractionsLeft_ = needle.retract ? kRetractions : 0;
    retractTo_ = needle.toMicrosteps;
    next_ = Next::kStopAgain;
    dueNs_ = nowNs + kGapNs;
    reply_.clear();
  }

  void tick(uint64_t nowNs) override {
    if (next_ == Next::kNothing || fd_ < 0 || nowNs < dueNs_) return;
    switch (next_) {
      case Next::kStopAgain:
        send(writeOne(unit_, kCommandRegister, kEstop), "stop_sent", "estop", nowNs);
        next_ = retractionsLeft_ > 0 ? Next::kTarget : Next::kNothing;
        dueNs_ = nowNs + kRetractDelayNs;
        break;
      case Next::kTarget:
        send(writePair(unit_, kTargetRegister, retractTo_), "target_sent",
             "target " + std::to_string(retractTo_), nowNs);
        next_ = Next::kRetract;
        dueNs_ = nowNs + kGapNs;
        break;
      case Next::kRetract:
        reply_.clear();
        send(writeOne(unit_, kCommandRegister, kMove), "retract_sent",
             "move to " + std::to_string(retractTo_), nowNs);
        next_ = --retractionsLeft_ > 0 ? Next::kTarget : Next::kNothing;
        dueNs_ = nowNs + kRepeatNs;
        break;
      case Next::kNothing:
        break;
    }
  }

  uint64_t dueNs() const override { return next_ != Next::kNothing && fd_ >= 0 ? dueNs_ : kNever; }
  bool settled() const override { return next_ == Next::kNothing || fd_ < 0; }
  void cancel() override { next_ = Next::kNothing; }
  void inherit() override { inherited_ = true; }

 private:
  enum class Next { kNothing, kStopAgain, kTarget, kRetract };

  void send(const Frame& frame, const char* event, const std::string& what, uint64_t nowNs) {
    const bool sent = fd_ >= 0 && writeNow(fd_, reinterpret_cast<const char*>(frame.bytes), frame.length, 5);
    log_.write(event, nowNs,
               ",\"link\":" + jsonString(name_) + ",\"command\":" + jsonString(what) +
                   ",\"ok\":" + (sent ? "true" : "false"));
  }

  /// The drive repeats the command that it accepts.
  void take(const char* bytes, size_t length, uint64_t nowNs) {
    reply_.append(bytes, length);
    if (reply_.size() > 256) reply_.erase(0, reply_.size() - 256);
    const Frame move = writeOne(unit_, kCommandRegister, kMove);
    const std::string wanted(reinterpret_cast<const char*>(move.bytes), move.length);
    if (retractionsLeft_ == kRetractions || reply_.find(wanted) == std::string::npos) return;
    log_.write("retract_answered", nowNs, ",\"link\":" + jsonString(name_));
    next_ = Next::kNothing;
    reply_.clear();
  }

  const std::string name_;
  ActionLog& log_;
  int fd_;
  const int unit_;
  bool inherited_ = false;
  Next next_ = Next::kNothing;
  int retractionsLeft_ = 0;
  int32_t retractTo_ = 0;
  uint64_t dueNs_ = kNever;
  std::string reply_;
};

}  // namespace

std::unique_ptr<StopLink> needleModbusLink(const NeedleModbus& port, ActionLog& log) {
  return std::make_unique<NeedleModbusStop>(port, log);
}

}  // namespace surgiclaw::guardian
