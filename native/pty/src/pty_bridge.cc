#include "surgiclaw/pty/pty_bridge.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

namespace surgiclaw::pty {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int openSlave(int master, std::string& path) {
  std::array<char, 128> name{};
  if (grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, name.data(), name.size()) != 0)
    fail("unlocking the pseudo-terminal");
  path = name.data();
  const int slave = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) fail("opening " + path);
  return slave;
}

void makeRaw(int terminal) {
  termios settings{};
  if (tcgetattr(terminal, &settings) != 0) fail("reading the terminal settings");
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  if (tcsetattr(terminal, TCSANOW, &settings) != 0) fail("setting the terminal raw");
}

void placeLink(const std::string& target, const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0) {
    if (!S_ISLNK(found.st_mode)) {
      errno = EEXIST;
      fail(path + " is not a symbolic link");
    }
    if (unlink(path.c_str()) != 0) fail("removing the old link " + path);
  }
  if (symlink(target.c_str(), path.c_str()) != 0) fail("placing the link " + path);
}

/// Writes all bytes; false when the reader has gone.
bool writeAll(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = write(descriptor, bytes, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return false;
      fail("writing to the emulator");
    }
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

/// Writes what the terminal's buffer takes and drops the rest.
void writeOrDrop(int master, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = write(master, bytes, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      fail("writing to the pseudo-terminal");
    }
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

}  // namespace

PtyBridge::PtyBridge(std::string linkPath) : linkPath_(std::move(linkPath)) {
  master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master_ < 0) fail("opening a pseudo-terminal");
  try {
    slave_ = openSlave(master_, terminalPath_);
    makeRaw(slave_);
    if (fcntl(master_, F_SETFL, O_NONBLOCK) != 0) fail("setting the pseudo-terminal non-blocking");
    placeLink(terminalPath_, linkPath_);
  } catch (...) {
    if (slave_ >= 0) close(slave_);
    close(master_);
    throw;
  }
}

PtyBridge::~PtyBridge() {
  // Only a link that still leads here is ours to remove.
  std::array<char, 256> target{};
  const ssize_t length = readlink(linkPath_.c_str(), target.data(), target.size() - 1);
  if (length > 0 && terminalPath_ == std::string(target.data(), static_cast<std::size_t>(length)))
    unlink(linkPath_.c_str());
  close(slave_);
  close(master_);
}

void PtyBridge::run(int input, int output) {
  std::array<char, 4096> buffer{};
  std::array<pollfd, 2> waits{pollfd{input, POLLIN, 0}, pollfd{master_, POLLIN, 0}};
  for (;;) {
    if (poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      fail("waiting for bytes");
    }
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t count = read(input, buffer.data(), buffer.size());
      if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return;
      if (count > 0) writeOrDrop(master_, buffer.data(), static_cast<std::size_t>(count));
    }
    if ((waits[1].revents & POLLIN) != 0) {
      const ssize_t count = read(master_, buffer.data(), buffer.size());
      if (count > 0 && !writeAll(output, buffer.data(), static_cast<std::size_t>(count))) return;
    }
  }
}

}  // namespace surgiclaw::pty
