#include "write_now.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace surgiclaw::guardian {

bool writeNow(int fd, const char* bytes, size_t length, int limitMs) {
  bool socket = true;
  int waits = 0;
  while (length > 0) {
    ssize_t written = -1;
    if (socket) {
      written = ::send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (written < 0 && errno == ENOTSOCK) {
        socket = false;
        continue;
      }
    } else {
      pollfd room{fd, POLLOUT, 0};
      if (::poll(&room, 1, 0) > 0) {
        written = ::write(fd, bytes, length);
      } else {
        errno = EAGAIN;
      }
    }
    if (written > 0) {
      bytes += written;
      length -= static_cast<size_t>(written);
    } else if (written < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return false;
    } else {
      if (waits++ >= limitMs) return false;
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, 1);
    }
  }
  return true;
}

}  // namespace surgiclaw::guardian
