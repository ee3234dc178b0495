#include "surgiclaw/guardian/action_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace surgiclaw::guardian {

std::string jsonString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

ActionLog::~ActionLog() {
  if (fd_ >= 0) ::close(fd_);
}

std::string ActionLog::open(const std::string& path) {
  if (path.empty()) return {};
  fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  return fd_ >= 0 ? std::string() : path + ": " + std::strerror(errno);
}

void ActionLog::write(const char* event, uint64_t monotonicNs, const std::string& fields) {
  if (fd_ < 0) return;
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  tm utc{};
  ::gmtime_r(&wall.tv_sec, &utc);
  char when[32];
  const size_t length = std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(when + length, sizeof when - length, ".%03ldZ", wall.tv_nsec / 1000000);
  char head[160];
  std::snprintf(head, sizeof head, "{\"event\":\"%s\",\"monotonicS\":%.6f,\"wallTime\":\"%s\"", event,
                static_cast<double>(monotonicNs) * 1e-9, when);
  const std::string line = head + fields + "}\n";
  ssize_t written = 0;
  do {
    written = ::write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  ::fdatasync(fd_);
}

}  // namespace surgiclaw::guardian
