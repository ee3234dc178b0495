#pragma once

#include <stdexcept>
#include <string>

namespace surgiclaw::grabber {

enum class GrabberFault {
  missing,          ///< no such device or folder
  refused,          ///< another program controls the device, or the device refused
  offline,          ///< the device does not answer (any more), or was closed
  feature,          ///< a feature is unknown, out of bounds, or reads back differently
  leasesExhausted,  ///< more leases held than the ring allows
  overflow,         ///< a bounded source was not emptied in time: frames are missing
  usage,            ///< the call does not fit the present state
};

/// What went wrong, for a person: the message names camera, feature and values.
class GrabberError : public std::runtime_error {
 public:
  GrabberError(GrabberFault fault, const std::string& detail) : std::runtime_error(detail), fault_(fault) {}
  GrabberFault fault() const noexcept { return fault_; }

 private:
  GrabberFault fault_;
};

}  // namespace surgiclaw::grabber
