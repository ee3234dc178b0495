#include "surgiclaw/servo/aries_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "deadline.h"

namespace surgiclaw::servo {
namespace {

using Clock = DeadlineClock;

/// Writes everything before the deadline. MSG_NOSIGNAL where it is a socket; a serial line raises no SIGPIPE.
LinkResult writeAll(int fd, const char* bytes, size_t length, Clock::time_point deadline) {
  bool socket = true;
  while (length > 0) {
    const ssize_t written =
        socket ? ::send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) : ::write(fd, bytes, length);
    if (written > 0) {
      bytes += written;
      length -= static_cast<size_t>(written);
    } else if (written < 0 && errno == ENOTSOCK) {
      socket = false;
    } else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!waitFor(fd, POLLOUT, deadline)) return LinkResult::kTimeout;
    } else if (!(written < 0 && errno == EINTR)) {
      return LinkResult::kClosed;
    }
  }
  return LinkResult::kOk;
}

}  // namespace

AriesLink::AriesLink(int fd, AriesFraming framing, int statusFields)
    : fd_(fd), framing_(framing), statusFields_(statusFields) {}

AriesLink::~AriesLink() {
  if (fd_ >= 0) ::close(fd_);
}

LinkReply AriesLink::exchange(const char* text, const char* command, int axis, Timeout timeout,
                              AriesReply& reply) {
  const auto deadline = Clock::now() + timeout;
  char request[64];
  const size_t length = encodeAries(framing_, text, request, sizeof request);
  if (length == 0) return {LinkResult::kRefused, 0};
  if (const LinkResult written = writeAll(fd_, request, length, deadline); written != LinkResult::kOk) {
    return {written, 0};
  }
  for (;;) {
    while (lines_.next(reply)) {
      if (reply.spontaneous()) {
        if (reply.kind == 'E') systemError_ = reply.code();
      } else if (reply.is(command, axis) || (reply.kind == 'E' && reply.is(command, -1))) {
        // An error that the controller finds before it has read the axis comes without one.
        if (reply.kind == 'C') return {LinkResult::kOk, 0};
        return {reply.kind == 'W' ? LinkResult::kWarning : LinkResult::kRefused, reply.code()};
      } else {
        ++strays_;
      }
    }
    if (!waitFor(fd_, POLLIN, deadline)) return {LinkResult::kTimeout, 0};
    const ssize_t got = ::read(fd_, lines_.space(), lines_.room());
    if (got > 0) {
      lines_.filled(static_cast<size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return {LinkResult::kClosed, 0};
    }
  }
}

LinkReply AriesLink::moveAbsolute(int axis, int speedTable, int32_t targetPulses, Timeout timeout) {
  char text[48];
  std::snprintf(text, sizeof text, "APS%d/%d/%d/1", axis, speedTable, targetPulses);
  AriesReply reply;
  return exchange(text, "APS", axis, timeout, reply);
}

LinkReply AriesLink::status(int axis, AxisStatus& status, Timeout timeout) {
  char text[16];
  std::snprintf(text, sizeof text, "STR%d", axis);
  AriesReply reply;
  LinkReply answer = exchange(text, "STR", axis, timeout, reply);
  if (!answer.ok()) return answer;
  if (reply.valueCount < statusFields_) return {LinkResult::kTimeout, 0};  // damaged: as good as no reply
  status.driving = reply.values[0];
  status.emergency = reply.values[1] != 0;
  return answer;
}

LinkReply AriesLink::position(int axis, int32_t& pulses, Timeout timeout) {
  char text[16];
  std::snprintf(text, sizeof text, "RDP%d", axis);
  AriesReply reply;
  LinkReply answer = exchange(text, "RDP", axis, timeout, reply);
  if (!answer.ok()) return answer;
  if (reply.valueCount < 1) return {LinkResult::kTimeout, 0};
  pulses = reply.values[0];
  return answer;
}

LinkReply AriesLink::stop(int axis, bool emergency, Timeout timeout) {
  char text[16];
  std::snprintf(text, sizeof text, "STP%d/%d", axis, emergency ? 1 : 0);
  AriesReply reply;
  return exchange(text, "STP", axis, timeout, reply);
}

LinkReply AriesLink::resync(Timeout timeout) {
  // What is already under way is dropped here; what comes later cannot be an identity, as none was asked for
  // before.
  pollfd waiting{fd_, POLLIN, 0};
  while (::poll(&waiting, 1, 20) > 0) {
    const ssize_t got = ::read(fd_, lines_.space(), lines_.room());
    if (got <= 0) {
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      return {LinkResult::kClosed, 0};
    }
    lines_.filled(static_cast<size_t>(got));
    AriesReply late;
    while (lines_.next(late)) {
      if (late.spontaneous() && late.kind == 'E') systemError_ = late.code();
      if (!late.spontaneous()) ++strays_;
    }
  }
  lines_.reset();
  AriesReply reply;
  return exchange("IDN", "IDN", -1, timeout, reply);
}

}  // namespace surgiclaw::servo
