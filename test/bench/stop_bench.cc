// How long a stop from the native side takes to the last byte at the device's end of each link. This program
// plays the daemon and the devices; between them stands the guardian as it is.
//   stop-bench end GUARDIAN N      the daemon is gone: from the end of its pipe
//   stop-bench silence GUARDIAN N  the daemon is silent: from the moment at which its silence has lasted long
//   enough stop-bench fire N              the servo's own stop line: from the call
// Prints JSON: microseconds by link, and whether guardian and far end were given real-time priority.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "surgiclaw/realtime/beat.h"
#include "surgiclaw/realtime/clock.h"
#include "surgiclaw/servo/stop_line.h"

namespace {

using surgiclaw::realtime::Beat;
using surgiclaw::realtime::monotonicNs;

constexpr int kSilenceMs = 10;
constexpr uint64_t kPatienceNs = 5'000'000'000;
/// Descriptors of the guardian, above any that this process has.
enum Slot { kBeats = 110, kStatus = 111, kZaber = 112, kModbus = 113 };

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Above the guardian, so that what is measured is not this program's own lateness.
bool raisePriority() {
  sched_param parameters{};
  parameters.sched_priority = 85;
  return ::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

/// A serial line as the guardian sees it, a descriptor that it writes to. Not a pseudo-terminal: there an
/// ordinary thread of the kernel carries the bytes, which no priority of ours hastens and no real line has.
struct Line {
  int far = -1;
  int near = -1;
};

Line openLine() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("line");
  return {ends[0], ends[1]};
}

int listenTcp(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 4) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("listener");
  port = ntohs(address.sin_port);
  return fd;
}

/// The device's end of a link: when the stop command was whole.
class FarEnd {
 public:
  FarEnd(const char* name, std::string_view stop, size_t total) : name_(name), stop_(stop), total_(total) {}

  void attach(int fd) {
    fd_ = fd;
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  void expect() {
    heard_.clear();
    atNs_ = 0;
  }
  int fd() const { return fd_; }
  const char* name() const { return name_; }
  /// The stop itself, and whatever the guardian sends after it by itself.
  bool stopped() const { return atNs_ != 0; }
  bool quiet() const { return heard_.size() >= total_; }
  uint64_t atNs() const { return atNs_; }

  /// True when the stop has just become whole.
  bool take() {
    char bytes[256];
    const ssize_t got = ::read(fd_, bytes, sizeof bytes);
    const uint64_t now = monotonicNs();
    if (got <= 0) return false;
    heard_.append(bytes, static_cast<size_t>(got));
    if (stopped() || heard_.find(stop_) == std::string::npos) return false;
    atNs_ = now;
    return true;
  }

 private:
  const char* name_;
  std::string_view stop_;
  size_t total_;
  int fd_ = -1;
  std::string heard_;
  uint64_t atNs_ = 0;
};

class Bench {
 public:
  explicit Bench(const char* program) : program_(program) {
    ends_[1].attach(zaber_.far);
    ends_[2].attach(modbus_.far);
    listener_ = listenTcp(port_);
  }

  void start(int silenceMs) {
    int beats[2];
    int status[2];
    if (::pipe2(beats, O_CLOEXEC) != 0 || ::pipe2(status, O_CLOEXEC) != 0) fail("pipe");
    child_ = ::fork();
    if (child_ < 0) fail("fork");
    if (child_ == 0) {
      sched_param ordinary{};
      ::sched_setscheduler(0, SCHED_OTHER, &ordinary);
      ::dup2(beats[0], kBeats);
      ::dup2(status[1], kStatus);
      ::dup2(zaber_.near, kZaber);
      ::dup2(modbus_.near, kModbus);
      const std::string endpoint = "127.0.0.1:" + std::to_string(port_);
      const std::string silence = std::to_string(silenceMs);
      ::execl(program_, "guardian", "--beat-fd", "110", "--status-fd", "111", "--silence-ms", silence.c_str(),
              "--aries-tcp", endpoint.c_str(), "--needle-fd", "112", "--needle-modbus-fd", "113", nullptr);
      ::_exit(127);
    }
    ::close(beats[0]);
    ::close(status[1]);
    beatFd_ = beats[1];
    statusFd_ = status[0];
    ::fcntl(statusFd_, F_SETFL, O_NONBLOCK);
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) fail("accept");
    ends_[0].attach(client);
  }

  uint64_t beat(uint32_t flags = 0) {
    Beat beat;
    beat.sequence = ++sequence_;
    beat.monotonicNs = monotonicNs();
    beat.flags = flags;
    if (::write(beatFd_, &beat, sizeof beat) != ssize_t{sizeof beat}) fail("beat");
    return beat.monotonicNs;
  }

  /// Beats until the guardian watches every link.
  void arm() {
    const uint64_t until = monotonicNs() + kPatienceNs;
    std::string said;
    while (said.find("\"armed\":true") == std::string::npos) {
      if (monotonicNs() > until) fail("the guardian does not arm");
      beat();
      const timespec nap{0, 1'000'000};
      ::nanosleep(&nap, nullptr);
      char bytes[1024];
      const ssize_t got = ::read(statusFd_, bytes, sizeof bytes);
      if (got > 0) said.append(bytes, static_cast<size_t>(got));
    }
    realtime_ = said.find("\"realtime\":true") != std::string::npos;
    expectAgain();
  }

  /// Listens until every stop is whole and what follows it by itself has come.
  void hear(uint64_t sinceNs) {
    const uint64_t until = monotonicNs() + kPatienceNs;
    const auto done = [this] {
      for (const FarEnd& end : ends_)
        if (!end.stopped() || !end.quiet()) return false;
      return true;
    };
    while (!done()) {
      if (monotonicNs() > until) fail("a stop did not come");
      std::array<pollfd, 3> waits{};
      for (size_t i = 0; i < ends_.size(); ++i) waits[i] = {ends_[i].fd(), POLLIN, 0};
      if (::poll(waits.data(), waits.size(), 100) < 0) fail("poll");
      for (size_t i = 0; i < ends_.size(); ++i) {
        if ((waits[i].revents & POLLIN) == 0 || !ends_[i].take()) continue;
        constexpr std::string_view kAnswer = "C\tSTP0\r\n";
        if (i == 0 && ::write(ends_[i].fd(), kAnswer.data(), kAnswer.size()) < 0) fail("answer");
      }
    }
    for (size_t i = 0; i < ends_.size(); ++i) {
      const auto late = static_cast<int64_t>(ends_[i].atNs() - sinceNs);
      timesUs_[i].push_back(static_cast<double>(late) / 1e3);
    }
  }

  /// Lets the guardian act once without measuring: every round then begins with it triggered.
  void fallSilent() {
    const timespec nap{0, 100'000'000};
    ::nanosleep(&nap, nullptr);
    for (FarEnd& end : ends_) end.take();
    expectAgain();
  }

  void expectAgain() {
    for (FarEnd& end : ends_) end.expect();
  }

  /// Closes the pipe of beats; the moment before.
  uint64_t leave() {
    const uint64_t now = monotonicNs();
    ::close(beatFd_);
    beatFd_ = -1;
    return now;
  }

  void bury() {
    if (beatFd_ >= 0) leave();
    int status = 0;
    ::waitpid(child_, &status, 0);
    ::close(statusFd_);
    ::close(ends_[0].fd());
    for (const int far : {zaber_.far, modbus_.far}) {
      char bytes[256];
      while (::read(far, bytes, sizeof bytes) > 0) {
      }
    }
  }

  void print(bool farEndRealtime) const {
    std::printf("{\"realtime\":%s,\"us\":{", realtime_ && farEndRealtime ? "true" : "false");
    for (size_t i = 0; i < ends_.size(); ++i) {
      std::printf("%s\"%s\":[", i == 0 ? "" : ",", ends_[i].name());
      for (size_t k = 0; k < timesUs_[i].size(); ++k)
        std::printf("%s%.1f", k == 0 ? "" : ",", timesUs_[i][k]);
      std::printf("]");
    }
    std::printf("}}\n");
  }

 private:
  const char* program_;
  Line zaber_ = openLine();
  Line modbus_ = openLine();
  int listener_ = -1;
  int port_ = 0;
  pid_t child_ = -1;
  int beatFd_ = -1;
  int statusFd_ = -1;
  uint32_t sequence_ = 0;
  bool realtime_ = false;
  // Modbus: register 0 of unit 1 becomes 2, twice; the checksum is the one of the Modbus specification's own
  // algorithm, worked out by hand for these six bytes.
  std::array<FarEnd, 3> ends_{
      FarEnd("stages, ARIES TCP", "STP0/1\r\n", 8), FarEnd("needle, Zaber ASCII", "/01 estop\n", 12),
      FarEnd("needle, Modbus RTU", std::string_view("\x01\x06\x00\x00\x00\x02\x08\x0b", 8), 16)};
  std::array<std::vector<double>, 3> timesUs_;
};

int whenTheDaemonEnds(const char* program, int count) {
  Bench bench(program);
  const bool realtime = raisePriority();
  for (int i = 0; i < count; ++i) {
    bench.start(5000);
    bench.arm();
    bench.hear(bench.leave());
    bench.bury();
  }
  bench.print(realtime);
  return 0;
}

int whenTheDaemonIsSilent(const char* program, int count) {
  Bench bench(program);
  const bool realtime = raisePriority();
  bench.start(kSilenceMs);
  bench.arm();
  bench.fallSilent();
  for (int i = 0; i < count; ++i) {
    const uint64_t lastNs = bench.beat(surgiclaw::realtime::kBeatRearm);
    bench.hear(lastNs + uint64_t{kSilenceMs} * 1'000'000);
    bench.expectAgain();
  }
  bench.print(realtime);
  bench.bury();
  return 0;
}

int servoFires(int count) {
  int port = 0;
  const int listener = listenTcp(port);
  surgiclaw::servo::StageLine address;
  address.host = "127.0.0.1";
  address.port = port;
  surgiclaw::servo::StopLine line;
  if (const std::string error = line.open(address, std::chrono::seconds(1)); !error.empty())
    fail(error.c_str());
  const int far = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  const bool realtime = raisePriority();
  std::printf("{\"realtime\":%s,\"us\":{\"stages, servo's stop line\":[", realtime ? "true" : "false");
  for (int i = 0; i < count; ++i) {
    const timespec nap{0, 1'000'000};
    ::nanosleep(&nap, nullptr);
    const uint64_t beganNs = monotonicNs();
    if (!line.fire()) fail("fire");
    char bytes[16];
    ssize_t got = 0;
    while (got < 8) {
      const ssize_t more = ::read(far, bytes + got, sizeof bytes - static_cast<size_t>(got));
      if (more <= 0) fail("read");
      got += more;
    }
    if (std::string_view(bytes, 8) != "STP0/0\r\n") fail("another command");
    std::printf("%s%.1f", i == 0 ? "" : ",", static_cast<double>(monotonicNs() - beganNs) / 1e3);
  }
  std::printf("]}}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "end" && argc == 4) return whenTheDaemonEnds(argv[2], std::atoi(argv[3]));
  if (mode == "silence" && argc == 4) return whenTheDaemonIsSilent(argv[2], std::atoi(argv[3]));
  if (mode == "fire" && argc == 3) return servoFires(std::atoi(argv[2]));
  std::fprintf(stderr, "usage: stop-bench end|silence GUARDIAN N | stop-bench fire N\n");
  return 64;
}
