// A second connection to the stage controller that exists only to stop it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace surgiclaw::servo {

/// fire() never waits: no lock, no queue, no reply. The servo thread may be in the middle of an exchange on
/// its own link (where a second command would be error 803) and the stop still goes out. The descriptor lives
/// as long as this object, so a fire() that runs beside the end of a run writes to a valid socket.
class StopLine {
 public:
  StopLine() = default;
  StopLine(const StopLine&) = delete;
  StopLine& operator=(const StopLine&) = delete;
  ~StopLine();

  /// Servo thread, once. Empty on success, else why not.
  std::string open(const std::string& host, int port, std::chrono::nanoseconds timeout);

  /// Any thread. Decelerates every axis of the controller (STP0/0). False when it was not open or would not
  /// take it.
  bool fire() noexcept;

 private:
  std::atomic<int> fd_{-1};
};

}  // namespace surgiclaw::servo
