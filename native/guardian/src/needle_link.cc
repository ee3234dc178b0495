#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "surgiclaw/guardian/stop_links.h"
#include "write_now.h"

namespace surgiclaw::guardian {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
constexpr uint64_t kMs = 1'000'000;
/// Time for the drive to come to rest: at 100 mm/s and 30 m/s² a stop takes 3.4 ms (stages-needle-cameras.md
/// C2).
constexpr uint64_t kRetractDelayNs = 20 * kMs;
constexpr uint64_t kRepeatNs = 150 * kMs;
constexpr int kRetractions = 3;

/// A Zaber-ASCII drive on a shared descriptor. The retraction goes to an absolute position, so repeating it
/// does no harm; it is repeated until the drive says OK where its replies can be read, else a few times.
class NeedleStop final : public StopLink {
 public:
  NeedleStop(const NeedleSerial& port, ActionLog& log)
      : name_("needle fd " + std::to_string(port.fd)),
        log_(log),
        fd_(port.fd),
        device_(port.device),
        axis_(port.axis) {
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
        for (ssize_t i = 0; i < got; ++i) take(bytes[i], nowNs);
      } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        fd_ = -1;
      }
    } else if ((revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      fd_ = -1;
    }
  }

  void stop(uint64_t nowNs, const NeedleOrder& needle) override {
    char command[48];
    std::snprintf(command, sizeof command, "/%02d estop", device_);
    send(command, "stop_sent", nowNs);
    retractionsLeft_ = needle.retract ? kRetractions : 0;
    retractTo_ = needle.toMicrosteps;
    retracting_ = false;
    retractNs_ = nowNs + kRetractDelayNs;
  }

  void tick(uint64_t nowNs) override {
    if (retractionsLeft_ == 0 || fd_ < 0 || nowNs < retractNs_) return;
    char command[48];
    std::snprintf(command, sizeof command, "/%02d %d move abs %d", device_, axis_, retractTo_);
    send(command, "retract_sent", nowNs);
    retracting_ = true;
    --retractionsLeft_;
    retractNs_ = nowNs + kRepeatNs;
  }

  uint64_t dueNs() const override { return retractionsLeft_ > 0 && fd_ >= 0 ? retractNs_ : kNever; }
  bool settled() const override { return retractionsLeft_ == 0 || fd_ < 0; }
  void cancel() override { retractionsLeft_ = 0; }
  void inherit() override { inherited_ = true; }

 private:
  void send(const char* command, const char* event, uint64_t nowNs) {
    const std::string bytes = std::string("\r\n") + command + "\n";
    const bool sent = fd_ >= 0 && writeNow(fd_, bytes.data(), bytes.size(), 5);
    log_.write(event, nowNs,
               ",\"link\":" + jsonString(name_) + ",\"command\":" + jsonString(command) +
                   ",\"ok\":" + (sent ? "true" : "false"));
  }

  /// Replies look like `@01 1 OK BUSY -- 0`.
  void take(char byte, uint64_t nowNs) {
    if (byte != '\n' && byte != '\r') {
      if (line_.size() < 100) line_ += byte;
      return;
    }
    const bool axisReply = line_.size() > 8 && line_[0] == '@' && line_[4] - '0' == axis_;
    if (axisReply && retracting_) {
      log_.write("retract_answered", nowNs,
                 ",\"link\":" + jsonString(name_) + ",\"reply\":" + jsonString(line_));
      if (line_.compare(6, 2, "OK") == 0) retractionsLeft_ = 0;
    }
    line_.clear();
  }

  const std::string name_;
  ActionLog& log_;
  int fd_;
  const int device_;
  const int axis_;
  bool inherited_ = false;
  bool retracting_ = false;
  int retractionsLeft_ = 0;
  int32_t retractTo_ = 0;
  uint64_t retractNs_ = kNever;
  std::string line_;
};

}  // namespace

std::unique_ptr<StopLink> needleSerialLink(const NeedleSerial& port, ActionLog& log) {
  return std::make_unique<NeedleStop>(port, log);
}

}  // namespace surgiclaw::guardian
