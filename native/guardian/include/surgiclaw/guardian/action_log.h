// The guardian's own account of what it did, for the audit log to quote.
#pragma once

#include <cstdint>
#include <string>

namespace surgiclaw::guardian {

/// Puts a string into JSON quotes.
std::string jsonString(const std::string& text);

/// Appends JSON lines to a file: `{"event":…,"monotonicS":…,"wallTime":…, …}`. Each line is one write of a
/// file opened for appending, flushed to disk; a file that cannot be written costs the line, never the stop.
class ActionLog {
 public:
  ActionLog() = default;
  ActionLog(const ActionLog&) = delete;
  ActionLog& operator=(const ActionLog&) = delete;
  ~ActionLog();

  /// Empty on success or for an empty path (no log); otherwise why not.
  std::string open(const std::string& path);
  /// `fields` is the rest of the object, beginning with a comma, or empty.
  void write(const char* event, uint64_t monotonicNs, const std::string& fields);

 private:
  int fd_ = -1;
};

}  // namespace surgiclaw::guardian
