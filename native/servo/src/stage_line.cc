#include "surgiclaw/servo/stage_line.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "deadline.h"

namespace surgiclaw::servo {

int openStageLine(const StageLine& line, std::chrono::nanoseconds timeout, std::string& error) {
  if (!line.shared()) return connectTcp(line.host, line.port, timeout, error);
  const int fd = ::fcntl(line.descriptor, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) error = std::strerror(errno);
  return fd;
}

int connectTcp(const std::string& host, int port, std::chrono::nanoseconds timeout, std::string& error) {
  const auto deadline = DeadlineClock::now() + timeout;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    error = std::string("cannot resolve ") + host + ": " + ::gai_strerror(failure);
    return -1;
  }
  int fd = -1;
  for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
    fd = ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
    if (fd < 0) {
      error = std::strerror(errno);
      continue;
    }
    int problem = ::connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (problem == EINPROGRESS) {
      socklen_t size = sizeof problem;
      if (!waitFor(fd, POLLOUT, deadline)) {
        problem = ETIMEDOUT;
      } else if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) != 0) {
        problem = errno;
      }
    }
    if (problem != 0) {
      error = std::strerror(problem);
      ::close(fd);
      fd = -1;
    }
  }
  ::freeaddrinfo(found);
  if (fd >= 0) {
    const int on = 1;  // a stop must not wait for the acknowledgement of what went before
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return fd;
}

}  // namespace surgiclaw::servo
