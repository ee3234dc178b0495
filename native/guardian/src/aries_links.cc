#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "read_lines.h"
#include "surgiclaw/guardian/stop_links.h"
#include "surgiclaw/servo/aries_wire.h"
#include "write_now.h"

namespace surgiclaw::guardian {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kRepeatNs = 100 * kMs;
constexpr uint64_t kConnectAgainNs = 250 * kMs;
constexpr uint64_t kConnectLimitNs = 1000 * kMs;
constexpr uint64_t kConnectAgainInNeedNs = 20 * kMs;
constexpr int kMaxAttempts = 5;

/// What both kinds of ARIES link share: a stop that is owed until the controller has answered it.
class AriesStop : public StopLink {
 public:
  const std::string& name() const override { return name_; }
  bool settled() const override { return !owed_; }
  void cancel() override { owed_ = false; }

  void stop(uint64_t nowNs, const NeedleOrder&) override {
    owed_ = true;
    attempts_ = 0;
    attempt(nowNs);
  }

 protected:
  /// @param shared the daemon writes to the same line, and may have left half a command on it
  AriesStop(std::string name, servo::AriesFraming framing, bool shared, ActionLog& log)
      : name_(std::move(name)), log_(log) {
    if (shared) bytes_ = "\r\n";
    char stop[16];
    bytes_.append(stop, servo::encodeAries(framing, "STP0/1", stop, sizeof stop));
  }

  virtual int fd() const = 0;
  virtual bool answersReach() const = 0;
  virtual void broken(uint64_t nowNs) = 0;

  void attempt(uint64_t nowNs) {
    if (fd() < 0) return;
    const bool sent = writeNow(fd(), bytes_.data(), bytes_.size(), 5);
    ++attempts_;
    repeatNs_ = nowNs + kRepeatNs;
    log_.write("stop_sent", nowNs,
               ",\"link\":" + jsonString(name_) + ",\"command\":\"STP0/1\",\"attempt\":" +
                   std::to_string(attempts_) + ",\"ok\":" + (sent ? "true" : "false"));
    if (!sent) {
      broken(nowNs);
    } else if (!answersReach()) {
      owed_ = false;  // the answer goes to the daemon, which shares the line
    }
  }

  void repeat(uint64_t nowNs) {
    if (!owed_ || fd() < 0 || nowNs < repeatNs_) return;
    if (attempts_ < kMaxAttempts) {
      attempt(nowNs);
    } else {
      owed_ = false;
      log_.write("stop_unanswered", nowNs, ",\"link\":" + jsonString(name_));
    }
  }

  /// False when the other side is gone.
  bool readReplies(uint64_t nowNs) {
    return readLines(fd(), lines_, [&](const servo::AriesReply& reply) {
      // An error is an answer too: 323 says that the axes are stopping already.
      if (!owed_ || !reply.is("STP", 0)) return;
      owed_ = false;
      log_.write("stop_answered", nowNs,
                 ",\"link\":" + jsonString(name_) + ",\"code\":" + std::to_string(reply.code()));
    });
  }

  const std::string name_;
  ActionLog& log_;
  std::string bytes_;
  servo::AriesLines lines_;
  bool owed_ = false;
  int attempts_ = 0;
  uint64_t repeatNs_ = kNever;
};

class AriesTcpStop final : public AriesStop {
 public:
  AriesTcpStop(const AriesTcp& endpoint, ActionLog& log)
      : AriesStop("aries " + endpoint.host + ":" + std::to_string(endpoint.port), servo::AriesFraming::kTcp,
                  false, log) {
    // A name is resolved once, at the start: later nothing may wait for a resolver.
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found) == 0) {
      std::memcpy(&address_, found->ai_addr, found->ai_addrlen);
      addressLength_ = found->ai_addrlen;
      ::freeaddrinfo(found);
    }
    connectNs_ = 0;
  }
  ~AriesTcpStop() override { drop(); }
  AriesTcpStop(const AriesTcpStop&) = delete;
  AriesTcpStop& operator=(const AriesTcpStop&) = delete;

  bool ready() const override { return fd_ >= 0 && connected_; }

  pollfd interest() const override {
    const int waiting = connected_ ? POLLIN : POLLOUT;
    return {fd_, static_cast<short>(waiting), 0};
  }

  void handle(short revents, uint64_t nowNs) override {
    if (fd_ < 0 || revents == 0) return;
    if (!connected_) {
      int problem = 0;
      socklen_t size = sizeof problem;
      if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &problem, &size) != 0 || problem != 0) {
        broken(nowNs);
        return;
      }
      nowConnected(nowNs);
      return;
    }
    if (!readReplies(nowNs)) broken(nowNs);
  }

  void tick(uint64_t nowNs) override {
    if (fd_ >= 0 && !connected_ && nowNs >= connectNs_ + kConnectLimitNs) broken(nowNs);
    if (fd_ < 0 && nowNs >= connectNs_) open(nowNs);
    if (connected_) repeat(nowNs);
  }

  uint64_t dueNs() const override {
    if (fd_ < 0) return addressLength_ == 0 ? kNever : connectNs_;
    if (!connected_) return connectNs_ + kConnectLimitNs;
    return owed_ ? repeatNs_ : kNever;
  }
  void inherit() override {}

 protected:
  int fd() const override { return connected_ ? fd_ : -1; }
  bool answersReach() const override { return true; }
  void broken(uint64_t nowNs) override {
    drop();
    connectNs_ = nowNs + (owed_ ? kConnectAgainInNeedNs : kConnectAgainNs);
  }

 private:
  void open(uint64_t nowNs) {
    if (addressLength_ == 0) return;
    connectNs_ = nowNs;
    fd_ = ::socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) {
      broken(nowNs);
      return;
    }
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // Nothing is ever written before the stop, so a controller that vanished is noticed by keep-alive alone.
    const int seconds = 1;
    const int probes = 3;
    ::setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address_), addressLength_) == 0) {
      nowConnected(nowNs);
    } else if (errno != EINPROGRESS) {
      broken(nowNs);
    }
  }

  void nowConnected(uint64_t nowNs) {
    connected_ = true;
    lines_.reset();
    if (owed_) attempt(nowNs);
  }

  void drop() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    connected_ = false;
  }

  sockaddr_storage address_{};
  socklen_t addressLength_ = 0;
  int fd_ = -1;
  bool connected_ = false;
  uint64_t connectNs_ = 0;
};

/// A duplicate of the daemon's own descriptor: a serial line, or the one connection of a controller that
/// takes no second client.
class AriesSharedStop final : public AriesStop {
 public:
  AriesSharedStop(const std::string& what, int fd, servo::AriesFraming framing, ActionLog& log)
      : AriesStop(what + " fd " + std::to_string(fd), framing, true, log), fd_(fd) {
    if (::fcntl(fd_, F_GETFD) < 0) fd_ = -1;
  }
  bool ready() const override { return fd_ >= 0; }
  /// Until the daemon is gone its replies are not ours to read; a hang-up shows without asking for anything.
  pollfd interest() const override {
    const int waiting = inherited_ ? POLLIN : 0;
    return {fd_, static_cast<short>(waiting), 0};
  }
  void handle(short revents, uint64_t nowNs) override {
    if ((revents & POLLIN) != 0 && inherited_) {
      if (!readReplies(nowNs)) fd_ = -1;
    } else if ((revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
      fd_ = -1;
    }
  }
  void tick(uint64_t nowNs) override { repeat(nowNs); }
  uint64_t dueNs() const override { return owed_ && fd_ >= 0 ? repeatNs_ : kNever; }
  bool settled() const override { return !owed_ || fd_ < 0; }
  void inherit() override { inherited_ = true; }

 protected:
  int fd() const override { return fd_; }
  bool answersReach() const override { return inherited_; }
  void broken(uint64_t) override {}  // tried again at the next repeat

 private:
  int fd_;
  bool inherited_ = false;
};

}  // namespace

std::unique_ptr<StopLink> ariesTcpLink(const AriesTcp& endpoint, ActionLog& log) {
  return std::make_unique<AriesTcpStop>(endpoint, log);
}

std::unique_ptr<StopLink> ariesSerialLink(const AriesSerial& port, ActionLog& log) {
  return std::make_unique<AriesSharedStop>("aries serial", port.fd, servo::AriesFraming::kSerial, log);
}

std::unique_ptr<StopLink> ariesConnectionLink(const AriesConnection& connection, ActionLog& log) {
  return std::make_unique<AriesSharedStop>("aries connection", connection.fd, servo::AriesFraming::kTcp, log);
}

}  // namespace surgiclaw::guardian
