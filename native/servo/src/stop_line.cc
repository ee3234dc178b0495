#include "surgiclaw/servo/stop_line.h"

#include <sys/socket.h>
#include <unistd.h>

#include "surgiclaw/servo/aries_link.h"

namespace surgiclaw::servo {

StopLine::~StopLine() {
  if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
}

std::string StopLine::open(const std::string& host, int port, std::chrono::nanoseconds timeout) {
  std::string error;
  const int fd = connectTcp(host, port, timeout, error);
  if (fd < 0) return error;
  fd_.store(fd);
  return {};
}

bool StopLine::fire() noexcept {
  static constexpr char kStop[] = "STP0/0\r\n";
  constexpr ssize_t kLength = sizeof kStop - 1;
  const int fd = fd_.load();
  return fd >= 0 && ::send(fd, kStop, kLength, MSG_NOSIGNAL | MSG_DONTWAIT) == kLength;
}

}  // namespace surgiclaw::servo
