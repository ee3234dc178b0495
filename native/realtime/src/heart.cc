#include "surgiclaw/realtime/heart.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::realtime {

namespace {

constexpr uint64_t kInTissueBit = uint64_t{1} << 32;

std::atomic<uint64_t> newestBeat{0};

int duplicate(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw std::system_error(errno, std::generic_category(), "the heartbeat's descriptor");
  return copy;
}

bool isSocket(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

Heart::Heart(const HeartOptions& options)
    : options_(options),
      fd_(duplicate(options.fd)),
      isSocket_(isSocket(fd_)),
      touchedNs_(monotonicNs()),
      thread_({"heart", options.period, options.priority}, [this](uint64_t dueNs) { return tick(dueNs); }) {
  try {
    if (options_.limit <= options_.period) throw std::invalid_argument("the limit must exceed the period");
    lockMemory(this, sizeof(*this));
    thread_.start();
  } catch (...) {
    close(fd_);
    throw;
  }
}

Heart::~Heart() { stop(); }

void Heart::stop() {
  thread_.stop();
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void Heart::touch() noexcept { touchedNs_.store(monotonicNs(), std::memory_order_release); }

void Heart::setNeedle(bool inTissue, int32_t retractToMicrosteps) noexcept {
  const uint64_t position = static_cast<uint32_t>(retractToMicrosteps);
  needle_.store(position | (inTissue ? kInTissueBit : 0), std::memory_order_release);
}

bool Heart::tick(uint64_t dueNs) noexcept {
  // A reader that has gone must not end the daemon; the signal of a broken pipe goes to the writing thread.
  if (sequence_ == 0) {
    sigset_t brokenPipe;
    sigemptyset(&brokenPipe);
    sigaddset(&brokenPipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &brokenPipe, nullptr);
  }
  const uint64_t now = monotonicNs();
  const uint64_t period = static_cast<uint64_t>(options_.period.count());
  if (now > dueNs + period) lateBeats_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t touched = touchedNs_.load(std::memory_order_acquire);
  const bool hung = now > touched && now - touched > static_cast<uint64_t>(options_.limit.count());
  if (awaitingRoom()) flush();
  if (hung || awaitingRoom() || readerGone_.load(std::memory_order_relaxed)) return true;

  const uint64_t needle = needle_.load(std::memory_order_acquire);
  Beat beat;
  beat.sequence = ++sequence_;
  beat.monotonicNs = now;
  beat.flags = (needle & kInTissueBit) != 0 ? kBeatNeedleInTissue : 0;
  beat.retractToMicrosteps = static_cast<int32_t>(static_cast<uint32_t>(needle));
  std::memcpy(pending_.data(), &beat, sizeof(beat));
  pendingOffset_ = 0;
  flush();
  // A beat that found no room at all is dropped, not kept: an old one must never pass for life.
  if (pendingOffset_ == 0) {
    pendingOffset_ = sizeof(Beat);
    lateBeats_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void Heart::flush() noexcept {
  const unsigned char* const rest = pending_.data() + pendingOffset_;
  const size_t size = sizeof(Beat) - pendingOffset_;
  ssize_t sent = -1;
  if (isSocket_) {
    sent = send(fd_, rest, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    // The pipe may be in blocking mode, and its mode is shared with whoever else holds it: ask before
    // writing. A pipe that polls writable has room for PIPE_BUF bytes.
    pollfd room{fd_, POLLOUT, 0};
    const int ready = poll(&room, 1, 0);
    if (ready > 0 && (room.revents & POLLOUT) != 0) {
      sent = write(fd_, rest, size);
    } else {
      errno = ready > 0 && (room.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 ? EPIPE : EAGAIN;
    }
  }
  if (sent < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      refusedInARow_.fetch_add(1, std::memory_order_relaxed);
    } else {
      readerGone_.store(true, std::memory_order_relaxed);
    }
    return;
  }
  pendingOffset_ += static_cast<size_t>(sent);
  if (!awaitingRoom()) {
    refusedInARow_.store(0, std::memory_order_relaxed);
    beats_.fetch_add(1, std::memory_order_relaxed);
    newestBeat.store(monotonicNs(), std::memory_order_release);
  }
}

uint64_t Heart::newestBeatNs() noexcept { return newestBeat.load(std::memory_order_acquire); }

HeartStatus Heart::status() const noexcept {
  HeartStatus status;
  status.beats = beats_.load(std::memory_order_relaxed);
  status.lateBeats = lateBeats_.load(std::memory_order_relaxed);
  const uint64_t refused = refusedInARow_.load(std::memory_order_relaxed);
  const bool reads = refused * static_cast<uint64_t>(options_.period.count()) <=
                     static_cast<uint64_t>(options_.limit.count());
  status.guardianAlive = thread_.running() && !readerGone_.load(std::memory_order_relaxed) && reads;
  const uint64_t touched = touchedNs_.load(std::memory_order_acquire);
  const uint64_t now = monotonicNs();
  status.eventLoopAgeNs = now > touched ? now - touched : 0;
  status.realtime = thread_.realtime();
  status.pace = thread_.stats();
  return status;
}

}  // namespace surgiclaw::realtime
