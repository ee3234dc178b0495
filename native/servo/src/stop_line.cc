#include "surgiclaw/servo/stop_line.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace surgiclaw::servo {

StopLine::~StopLine() {
  if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
}

std::string StopLine::open(const StageLine& line, std::chrono::nanoseconds timeout) {
  std::string error;
  const int fd = openStageLine(line, timeout, error);
  if (fd < 0) return error;
  serial_.store(line.framing == AriesFraming::kSerial);
  fd_.store(fd);
  return {};
}

bool StopLine::fire() noexcept {
  char stop[16];
  const AriesFraming framing = serial_.load() ? AriesFraming::kSerial : AriesFraming::kTcp;
  const size_t length = encodeAries(framing, "STP0/0", stop, sizeof stop);
  const int fd = fd_.load();
  if (fd < 0) return false;
  ssize_t written = ::send(fd, stop, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  // Opened without blocking: a line that takes nothing refuses instead of waiting.
  if (written < 0 && errno == ENOTSOCK) written = ::write(fd, stop, length);
  return written == static_cast<ssize_t>(length);
}

}  // namespace surgiclaw::servo
