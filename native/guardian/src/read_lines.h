// Lines of a controller from a descriptor that may be in blocking mode.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "surgiclaw/servo/aries_wire.h"

namespace surgiclaw::guardian {

/// Reads what is there, which must be something, and calls `take(const AriesReply&)` for each whole line.
/// False when the other side is gone.
template <typename Take>
bool readLines(int fd, servo::AriesLines& lines, Take&& take) {
  for (;;) {
    const ssize_t got = ::read(fd, lines.space(), lines.room());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0) return false;
    lines.filled(static_cast<size_t>(got));
    servo::AriesReply reply;
    while (lines.next(reply)) take(reply);
    // Asks before the next read, which might wait.
    pollfd more{fd, POLLIN, 0};
    if (::poll(&more, 1, 0) <= 0 || (more.revents & POLLIN) == 0) return true;
  }
}

}  // namespace surgiclaw::guardian
