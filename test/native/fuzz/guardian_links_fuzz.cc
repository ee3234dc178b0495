// What devices answer to the guardian while it stops them, over a socket in the place of the serial line. The
// first byte says which device and how the rest is cut.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "pieces.h"
#include "surgiclaw/guardian/stop_links.h"

using namespace surgiclaw::guardian;
using surgiclaw::fuzz::inPieces;
using surgiclaw::fuzz::require;

namespace {

std::unique_ptr<StopLink> linkOf(uint8_t kind, int fd, ActionLog& log) {
  switch (kind % 5) {
    case 0:
      return ariesSerialLink({fd}, log);
    case 1:
      return needleSerialLink({fd, 1, 1}, log);
    case 2:
      return scSerialLink({fd, {3, 1, 2}}, log);
    case 3:
      return ariesConnectionLink({fd}, log);
    default:
      return needleModbusLink({fd, 1}, log);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  ActionLog log;
  {
    const std::unique_ptr<StopLink> link = linkOf(data[0], ends[0], log);
    uint64_t now = 1'000'000'000;
    link->inherit();
    link->stop(now, {true, 1234});
    inPieces(data + 1, size - 1, data[0], [&](const uint8_t* bytes, size_t count) {
      if (write(ends[1], bytes, count) < 0) return;
      link->handle(POLLIN, now);
      now += 1'000'000;
      link->tick(now);
    });
    // Whatever the device says, the guardian comes to an end.
    for (int i = 0; i < 1000 && !link->settled(); ++i) {
      now += 100'000'000;
      link->tick(now);
    }
    require(link->settled(), "the guardian gives up in the end");
    shutdown(ends[1], SHUT_RDWR);
    if (link->ready()) link->handle(POLLIN | POLLHUP, now);
  }
  close(ends[0]);
  close(ends[1]);
  return 0;
}
