// The guardian's own account of what it did, for the audit log to quote.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace surgiclaw::guardian {

/// Puts a string into JSON quotes.
std::string jsonString(const std::string& text);

/// Appends JSON lines to a file: `{"event":…,"monotonicS":…,"wallTime":…, …}`, in the order of the calls,
/// flushed to disk. A thread of its own writes them: a disk that is busy with a recording takes its time, and
/// no stop waits for that. A file that cannot be written costs the line, never the stop.
class ActionLog {
 public:
  ActionLog() = default;
  ActionLog(const ActionLog&) = delete;
  ActionLog& operator=(const ActionLog&) = delete;
  /// Returns once everything is on disk.
  ~ActionLog();

  /// Empty on success or for an empty path (no log); otherwise why not. Once, before the process asks for
  /// real-time priority: the writer keeps the ordinary one.
  std::string open(const std::string& path);
  /// `fields` is the rest of the object, beginning with a comma, or empty. Waits for no disk.
  void write(const char* event, uint64_t monotonicNs, const std::string& fields);

 private:
  static void* enter(void* self);
  void drain();

  int fd_ = -1;
  pthread_t writer_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string pending_;  ///< whole lines, under the mutex
  bool ending_ = false;
};

}  // namespace surgiclaw::guardian
