// A stage controller in the test's own process: ARIES over TCP or a serial line, axes with lost motion, and
// faults on demand. Written from stages-needle-cameras.md A1–A6, apart from the code under test.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace surgiclaw::servo::test {

struct FakeAxis {
  double counter = 0;  ///< pulses as the controller counts them
  double target = 0;
  double physical = 0;    ///< where the table is, in pulses, behind the lost motion
  double lostMotion = 2;  ///< pulses of play between screw and table
  double speed = 20000;   ///< pulses/s
  bool driving = false;
  bool stuck = false;  ///< the table no longer follows
};

inline double nowS();

class FakeAries {
 public:
  FakeAries();
  ~FakeAries();
  int port() const { return port_; }
  /// Serves a pseudo-terminal too, where every command begins with STX. Returns the other end, non-blocking,
  /// which lives as long as this object.
  int openSerialLine();

  /// Everything received, one entry a command, with the time of its arrival.
  struct Command {
    std::string text;
    double atS;
  };
  std::vector<Command> commands() const;
  size_t count(const std::string& prefix) const;
  double physical(int axis) const;
  double counter(int axis) const;
  bool driving(int axis) const;
  void edit(int axis, const FakeAxis& values);
  void setSpeed(double pulsesPerS);
  /// Sends a line to every client by itself.
  void broadcast(const std::string& line);
  void dropClients();

  std::atomic<bool> splitReplies{false};  ///< replies leave byte by byte
  std::atomic<int> lateDriving{0};        ///< so many APS are refused with 309 although STR said stopped
  std::atomic<bool> mute{false};          ///< nothing is answered any more
  std::atomic<int> refuseMoves{0};        ///< error code for every APS; 0 accepts

 private:
  void serve();
  void advance(double dtS);
  std::string answer(const std::string& command);

  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<int, FakeAxis> axes_;
  std::vector<Command> commands_;
  std::vector<std::string> pending_;
  std::atomic<bool> dropping_{false};
  std::atomic<bool> ending_{false};
  std::atomic<int> newLine_{-1};  ///< a terminal that serve() takes over
  int line_ = -1;
  std::thread thread_;
};

inline double nowS() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline FakeAries::FakeAries() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 8) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  for (int axis = 1; axis <= 7; ++axis) axes_[axis] = FakeAxis{};
  thread_ = std::thread([this] { serve(); });
}

inline FakeAries::~FakeAries() {
  ending_.store(true);
  thread_.join();
  ::close(listener_);
  if (line_ >= 0) ::close(line_);
}

inline int FakeAries::openSerialLine() {
  int master = -1;
  termios raw{};
  ::cfmakeraw(&raw);
  raw.c_cflag |= CREAD | CLOCAL;
  if (::openpty(&master, &line_, nullptr, &raw, nullptr) != 0) std::abort();
  for (const int fd : {master, line_}) {
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  newLine_.store(master);
  return line_;
}

inline void FakeAries::serve() {
  struct Client {
    int fd;
    std::string in;
    bool serial = false;
    void send(const char* bytes, size_t length) const {
      if (serial) {
        if (::write(fd, bytes, length) < 0) return;
      } else {
        ::send(fd, bytes, length, MSG_NOSIGNAL);
      }
    }
  };
  std::vector<Client> clients;
  double before = nowS();
  while (!ending_.load()) {
    if (const int line = newLine_.exchange(-1); line >= 0) clients.push_back({line, "", true});
    std::vector<pollfd> waiting{{listener_, POLLIN, 0}};
    for (const Client& client : clients) waiting.push_back({client.fd, POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), 1);
    const double now = nowS();
    const std::lock_guard<std::mutex> lock(mutex_);
    advance(now - before);
    before = now;
    std::vector<Client> alive;
    for (size_t i = 0; i < clients.size(); ++i) {
      Client& client = clients[i];
      bool open = client.serial || !dropping_.load();
      if (open && (waiting[i + 1].revents & (POLLIN | POLLHUP)) != 0) {
        char bytes[256];
        const ssize_t got = client.serial ? ::read(client.fd, bytes, sizeof bytes)
                                          : ::recv(client.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got <= 0) {
          open = false;
        } else {
          client.in.append(bytes, static_cast<size_t>(got));
        }
      }
      std::string out;
      for (size_t end = client.in.find("\r\n"); end != std::string::npos; end = client.in.find("\r\n")) {
        std::string command = client.in.substr(0, end);
        client.in.erase(0, end + 2);
        if (client.serial && command.empty()) continue;
        if (client.serial && command[0] != '\x02') {
          out += "E\t" + command.substr(0, 3) + "\t1\r\n";
          continue;
        }
        if (client.serial) command.erase(0, 1);
        commands_.push_back({command, now});
        const std::string reply = answer(command);
        if (!mute.load()) out += reply + "\r\n";
      }
      for (const std::string& line : pending_) out += line + "\r\n";
      if (open && !out.empty()) {
        const size_t piece = splitReplies.load() ? 1 : out.size();
        for (size_t at = 0; at < out.size(); at += piece) {
          client.send(out.data() + at, piece);
          if (piece == 1) std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
      }
      if (open) {
        alive.push_back(client);
      } else {
        ::close(client.fd);
      }
    }
    clients = alive;
    pending_.clear();
    dropping_.store(false);
    if ((waiting[0].revents & POLLIN) != 0) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      clients.push_back({fd, "", false});
    }
  }
  for (const Client& client : clients) ::close(client.fd);
}

inline void FakeAries::advance(double dtS) {
  for (auto& [number, axis] : axes_) {
    if (!axis.driving) continue;
    const double step = axis.speed * dtS;
    const double left = axis.target - axis.counter;
    if (std::abs(left) <= step) {
      axis.counter = axis.target;
      axis.driving = false;
    } else {
      axis.counter += left > 0 ? step : -step;
    }
    // Play: the table follows only when the nut touches it on the side of the motion.
    if (!axis.stuck) axis.physical = std::clamp(axis.physical, axis.counter - axis.lostMotion, axis.counter);
  }
}

inline std::string FakeAries::answer(const std::string& command) {
  const std::string name = command.substr(0, 3);
  if (name == "IDN") return "C\tIDN\tARIES\t1\t4\t4";
  int axis = -1;
  int a = 0;
  int b = 0;
  int c = 0;
  std::sscanf(command.c_str() + std::min<size_t>(3, command.size()), "%d/%d/%d/%d", &axis, &a, &b, &c);
  const std::string tag = name + std::to_string(axis);
  if (name == "STP") {
    for (auto& [number, values] : axes_) {
      if (axis == 0 || axis == number) {
        values.counter = std::round(values.counter);
        values.driving = false;
      }
    }
    return "C\t" + tag;
  }
  if (axes_.count(axis) == 0) return "E\t" + name + "\t101";
  FakeAxis& values = axes_[axis];
  char text[80];
  if (name == "RDP") {
    std::snprintf(text, sizeof text, "C\t%s\t%d", tag.c_str(), static_cast<int>(std::lround(values.counter)));
    return text;
  }
  if (name == "STR") {
    std::snprintf(text, sizeof text, "C\t%s\t%d\t0\t0\t0\t0\t1", tag.c_str(), values.driving ? 1 : 0);
    return text;
  }
  if (name == "APS") {
    if (refuseMoves.load() != 0) return "E\t" + tag + "\t" + std::to_string(refuseMoves.load());
    if (values.driving || lateDriving.load() > 0) {
      if (lateDriving.load() > 0) lateDriving.fetch_sub(1);
      return "E\t" + tag + "\t309";
    }
    values.target = b;
    values.driving = values.target != values.counter;
    return "C\t" + tag;
  }
  return "E\t" + name + "\t4";
}

inline std::vector<FakeAries::Command> FakeAries::commands() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return commands_;
}

inline size_t FakeAries::count(const std::string& prefix) const {
  const auto all = commands();
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [&](const Command& command) { return command.text.rfind(prefix, 0) == 0; }));
}

inline double FakeAries::physical(int axis) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return axes_.at(axis).physical;
}

inline double FakeAries::counter(int axis) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return axes_.at(axis).counter;
}

inline bool FakeAries::driving(int axis) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return axes_.at(axis).driving;
}

inline void FakeAries::edit(int axis, const FakeAxis& values) {
  const std::lock_guard<std::mutex> lock(mutex_);
  axes_[axis] = values;
}

inline void FakeAries::setSpeed(double pulsesPerS) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [number, axis] : axes_) axis.speed = pulsesPerS;
}

inline void FakeAries::broadcast(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_.push_back(line);
}

inline void FakeAries::dropClients() { dropping_.store(true); }

}  // namespace surgiclaw::servo::test
