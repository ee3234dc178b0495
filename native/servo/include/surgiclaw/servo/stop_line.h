// A way to the stage controller that exists only to stop it.
#pragma once

#include <atomic>
#include <string>

#include "surgiclaw/servo/stage_line.h"

namespace surgiclaw::servo {

/// fire() never waits: no lock, no queue, no reply. Where the controller takes a second client this is a
/// connection of its own, so that the stop goes out in the middle of an exchange of the servo thread (where a
/// second command on the same connection would be error 803). On a shared line it is a second descriptor of
/// that line: the bytes go out whole, and the loop, which ends at a stop, stops its axes once more in step.
/// The descriptor lives as long as this object, so a fire() that runs beside the end of a run writes to a
/// valid one.
class StopLine {
 public:
  StopLine() = default;
  StopLine(const StopLine&) = delete;
  StopLine& operator=(const StopLine&) = delete;
  ~StopLine();

  /// Servo thread, once. Empty on success, else why not.
  std::string open(const StageLine& line, std::chrono::nanoseconds timeout);

  /// Any thread. Decelerates every axis of the controller (STP0/0). False when it was not open or would not
  /// take it.
  bool fire() noexcept;

 private:
  std::atomic<int> fd_{-1};
  std::atomic<bool> serial_{false};
};

}  // namespace surgiclaw::servo
