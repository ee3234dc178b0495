#include "surgiclaw/grabber/v4l2_system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace surgiclaw::grabber {

namespace {

template <typename Call>
int untilNotInterrupted(const Call& call) {
  int result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class LinuxV4l2 final : public V4l2System {
 public:
  int open(const std::string& path) override {
    return untilNotInterrupted([&] { return ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC); });
  }
  int close(int fd) override { return ::close(fd); }
  int ioctl(int fd, unsigned long request, void* argument) override {
    return untilNotInterrupted([&] { return ::ioctl(fd, request, argument); });
  }
  void* map(int fd, size_t length, size_t offset) override {
    return mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  }
  int unmap(void* memory, size_t length) override { return munmap(memory, length); }
  int poll(int fd, int timeoutMs) override {
    pollfd watched{fd, POLLIN, 0};
    const int ready = untilNotInterrupted([&] { return ::poll(&watched, 1, timeoutMs); });
    return ready > 0 ? watched.revents : ready;
  }
};

}  // namespace

std::shared_ptr<V4l2System> linuxV4l2() { return std::make_shared<LinuxV4l2>(); }

}  // namespace surgiclaw::grabber
