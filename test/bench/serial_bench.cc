// serial-bench device NS: a pseudo-terminal whose far end answers every request line at once, or after NS
// nanoseconds per byte of both, as a wire of that speed takes; prints the terminal's path. Ends with standard
// input. serial-bench client PATH: the anchor, a plain loop of write and read on the terminal. For every
// count on standard input it prints as many round-trip times in microseconds, in one line.
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// What the product's driver asks and hears for the position of an axis.
constexpr std::string_view kRequest = "\x02RDP1\r\n";
constexpr std::string_view kReply = "C\tRDP1\t-1234\r\n";
/// The driver asks once who is there before anything else.
constexpr std::string_view kIdentity = "C\tIDN\tARIES\t1\t4\t4\r\n";

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void makeRaw(int terminal) {
  termios settings{};
  if (tcgetattr(terminal, &settings) != 0) fail("tcgetattr");
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  if (tcsetattr(terminal, TCSANOW, &settings) != 0) fail("tcsetattr");
}

std::int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void sleepNs(std::int64_t ns) {
  if (ns <= 0) return;
  const timespec time{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

void writeAll(int descriptor, std::string_view bytes) {
  if (write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) fail("write");
}

int device(std::int64_t nsPerByte) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) fail("pseudo-terminal");
  // Held open: a terminal that nobody has open reports an error to its far end.
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (slave < 0) fail("terminal");
  makeRaw(slave);
  std::printf("%s\n", ptsname(master));
  std::fflush(stdout);
  std::array<pollfd, 2> waits{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{master, POLLIN, 0}};
  std::array<char, 4096> buffer{};
  for (;;) {
    if (poll(waits.data(), waits.size(), -1) < 0) fail("poll");
    if (waits[0].revents != 0) return 0;
    const ssize_t count = read(master, buffer.data(), buffer.size());
    if (count <= 0) fail("read");
    const std::string_view request(buffer.data(), static_cast<std::size_t>(count));
    if (request.back() != '\n') fail("a request in pieces");
    sleepNs(nsPerByte * static_cast<std::int64_t>(kRequest.size() + kReply.size()));
    writeAll(master, request.find("IDN") == request.npos ? kReply : kIdentity);
  }
}

int client(const char* path) {
  const int terminal = open(path, O_RDWR | O_NOCTTY);
  if (terminal < 0) fail(path);
  makeRaw(terminal);
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), stdin) != nullptr) {
    std::vector<double> timesUs(static_cast<std::size_t>(std::atoi(line.data())));
    for (double& timeUs : timesUs) {
      const std::int64_t begunNs = nowNs();
      writeAll(terminal, kRequest);
      std::string reply;
      while (reply.empty() || reply.back() != '\n') {
        std::array<char, 64> buffer{};
        const ssize_t count = read(terminal, buffer.data(), buffer.size());
        if (count <= 0) fail("read");
        reply.append(buffer.data(), static_cast<std::size_t>(count));
      }
      timeUs = static_cast<double>(nowNs() - begunNs) / 1e3;
      if (reply != kReply) fail("another reply");
    }
    for (const double timeUs : timesUs) std::printf("%.1f ", timeUs);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "device") == 0) return device(std::atoll(argv[2]));
  if (argc == 3 && std::strcmp(argv[1], "client") == 0) return client(argv[2]);
  std::fprintf(stderr, "usage: serial-bench device NS_PER_BYTE | serial-bench client PATH\n");
  return 64;
}
