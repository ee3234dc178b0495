#include <fcntl.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "read_lines.h"
#include "surgiclaw/guardian/stop_links.h"
#include "surgiclaw/servo/aries_wire.h"
#include "write_now.h"

namespace surgiclaw::guardian {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
constexpr uint64_t kMs = 1'000'000;
/// A stop and its answer take 5 ms on a line of 38400 baud; commands that follow each other without a pause
/// are reported to go astray (stages-needle-cameras.md A9).
constexpr uint64_t kNextAxisNs = 15 * kMs;
constexpr uint64_t kNextRoundNs = 100 * kMs;
/// Where answers cannot be read, a second round catches what the daemon's own half command swallowed.
constexpr int kBlindRounds = 2;
constexpr int kRounds = 5;

/// An SC-series controller knows no stop for all axes: one `STPn/1` after the other, the next as soon as the
/// one before is answered, or after a pause. `STP` is answered when the axis stands.
class ScStop final : public StopLink {
 public:
  ScStop(const ScSerial& port, ActionLog& log)
      : name_("sc serial fd " + std::to_string(port.fd)), log_(log), axes_(port.axes), fd_(port.fd) {
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
      const bool open = readLines(fd_, lines_, [&](const servo::AriesReply& reply) { heard(reply, nowNs); });
      if (!open) fd_ = -1;
    } else if ((revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      fd_ = -1;
    }
  }

  void stop(uint64_t nowNs, const NeedleOrder&) override {
    moving_ = axes_;
    round_ = 1;
    next_ = 0;
    sendNext(nowNs);
  }

  void tick(uint64_t nowNs) override {
    if (moving_.empty() || fd_ < 0 || nowNs < dueNs_) return;
    if (next_ < moving_.size()) {
      sendNext(nowNs);
    } else if (round_ < (inherited_ ? kRounds : kBlindRounds)) {
      ++round_;
      next_ = 0;
      sendNext(nowNs);
    } else {
      if (inherited_) log_.write("stop_unanswered", nowNs, ",\"link\":" + jsonString(name_));
      moving_.clear();
    }
  }

  uint64_t dueNs() const override { return !moving_.empty() && fd_ >= 0 ? dueNs_ : kNever; }
  bool settled() const override { return moving_.empty() || fd_ < 0; }
  void cancel() override { moving_.clear(); }
  void inherit() override { inherited_ = true; }

 private:
  void sendNext(uint64_t nowNs) {
    char command[16];
    std::snprintf(command, sizeof command, "STP%d/1", moving_[next_]);
    char line[24];
    // The line end closes what the daemon may have left half-written.
    const std::string bytes = "\r\n" + std::string(line, servo::encodeAries(servo::AriesFraming::kSerial,
                                                                            command, line, sizeof line));
    const bool sent = fd_ >= 0 && writeNow(fd_, bytes.data(), bytes.size(), 5);
    log_.write("stop_sent", nowNs,
               ",\"link\":" + jsonString(name_) + ",\"command\":" + jsonString(command) +
                   ",\"attempt\":" + std::to_string(round_) + ",\"ok\":" + (sent ? "true" : "false"));
    ++next_;
    dueNs_ = nowNs + (next_ < moving_.size() ? kNextAxisNs : kNextRoundNs);
  }

  /// An axis is stopped by anything but an error.
  void heard(const servo::AriesReply& reply, uint64_t nowNs) {
    if (reply.kind == 'E') return;
    for (size_t i = 0; i < moving_.size(); ++i) {
      if (!reply.is("STP", moving_[i])) continue;
      log_.write("stop_answered", nowNs,
                 ",\"link\":" + jsonString(name_) + ",\"axis\":" + std::to_string(moving_[i]));
      moving_.erase(moving_.begin() + static_cast<std::ptrdiff_t>(i));
      if (i < next_) --next_;
      if (next_ < moving_.size()) dueNs_ = nowNs;
      return;
    }
  }

  const std::string name_;
  ActionLog& log_;
  const std::vector<int> axes_;
  int fd_;
  bool inherited_ = false;
  std::vector<int> moving_;  ///< axes whose stop has not been answered, in the order of stopping
  size_t next_ = 0;          ///< of `moving_`, the next to be told
  int round_ = 0;
  uint64_t dueNs_ = kNever;
  servo::AriesLines lines_;
};

}  // namespace

std::unique_ptr<StopLink> scSerialLink(const ScSerial& port, ActionLog& log) {
  return std::make_unique<ScStop>(port, log);
}

}  // namespace surgiclaw::guardian
