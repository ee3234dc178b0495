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
  if (fd_ < 0) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  ::pthread_join(writer_, nullptr);
  ::close(fd_);
}

std::string ActionLog::open(const std::string& path) {
  if (path.empty()) return {};
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return path + ": " + std::strerror(errno);
  fd_ = fd;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  // All memory of this process is locked: no more of it than the thread needs.
  ::pthread_attr_setstacksize(&attributes, size_t{128} * 1024);
  const int error = ::pthread_create(&writer_, &attributes, &ActionLog::enter, this);
  ::pthread_attr_destroy(&attributes);
  if (error == 0) return {};
  ::close(fd);
  fd_ = -1;
  return path + ": no thread to write it: " + std::strerror(error);
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
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_ += head + fields + "}\n";
  }
  changed_.notify_one();
}

void* ActionLog::enter(void* self) {
  static_cast<ActionLog*>(self)->drain();
  return nullptr;
}

void ActionLog::drain() {
  std::string lines;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !pending_.empty(); });
      if (pending_.empty()) return;
      lines.swap(pending_);
    }
    ssize_t written = 0;
    do {
      written = ::write(fd_, lines.data(), lines.size());
    } while (written < 0 && errno == EINTR);
    ::fdatasync(fd_);
    lines.clear();
  }
}

}  // namespace surgiclaw::guardian
