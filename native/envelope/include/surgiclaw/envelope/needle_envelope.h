// What may be written to the needle drive, in either of its languages. Zaber ASCII is text: the judge reads
// the very line that goes out. Modbus registers are bits, in which NaN is a position like any other: there
// the judge makes the words itself, from the numbers. The map of the registers:
// src/cell/needle/modbus-codec.ts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "surgiclaw/envelope/refusal.h"

namespace surgiclaw::envelope {

struct NeedleLimits {
  /// Whole stroke, microsteps; 0 is withdrawn.
  int32_t travel = 0;
  /// Microsteps/s, microsteps/s².
  double maxSpeed = 0;
  double maxAcceleration = 0;
  /// Zaber data values per microstep/s and per microstep/s².
  double speedScale = 1;
  double accelerationScale = 1;
};

class NeedleEnvelope {
 public:
  explicit NeedleEnvelope(const NeedleLimits& limits) : limits_(limits) {}

  /// Before anything is sent, in microsteps. `what` names the value in the message.
  Refusal position(double microsteps, const std::string& what) const;
  Refusal motion(double speed, double acceleration) const;
  static Refusal dwell(double milliseconds);

  /// One Zaber line as it is about to be written, with its checksum, if any, and its line end. A stop is
  /// never refused.
  Refusal line(std::string_view bytes) const;

  /// The values of the fields from register `address` on, in the order of the map, as register words: `words`
  /// is only filled when nothing was refused. Speeds and accelerations are rounded down.
  Refusal registers(int address, const std::vector<double>& values, std::vector<uint16_t>& words) const;

 private:
  Refusal command(const std::vector<std::string_view>& words) const;
  Refusal speedData(std::string_view text) const;
  Refusal accelerationData(std::string_view text) const;
  Refusal positionData(std::string_view text) const;

  NeedleLimits limits_;
};

}  // namespace surgiclaw::envelope
