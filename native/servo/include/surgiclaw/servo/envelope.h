// The last step before the wire, and the plan of an approach that stays inside it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surgiclaw::servo {

/// What one axis may do. Positions are controller pulses.
struct AxisLimits {
  int axis = 0;
  int32_t minPulses = 0;
  int32_t maxPulses = 0;
  int32_t maxStepPulses = 0;  ///< largest |target − position| of one command
};

/// Hard limits of the axes that a servo run owns. A refusal stops the run: nothing is bent to fit.
class Envelope {
 public:
  explicit Envelope(std::vector<AxisLimits> limits) : limits_(std::move(limits)) {}

  /// Empty when every axis may go from `from` to `to` (one entry an axis, in the order of the limits);
  /// otherwise the axis, the value and the limit, for a person to read.
  std::string refusal(const std::vector<int32_t>& from, const std::vector<int32_t>& to) const;

  const std::vector<AxisLimits>& limits() const { return limits_; }

 private:
  std::vector<AxisLimits> limits_;
};

/// The commands that bring one axis from `position` to `target` so that its last motion goes in direction
/// `approach`
/// (+1 or −1): then lost motion always lies on the same side and cancels. One entry when the way already goes
/// that way and the screw is known to lie on that side (`seated`), two when the axis must first go
/// `approachPulses` beyond, none when it does not move. The point beyond is held inside [minPulses,
/// maxPulses].
std::vector<int32_t> approachLegs(int32_t position, int32_t target, int approach, int32_t approachPulses,
                                  bool seated, int32_t minPulses, int32_t maxPulses);

}  // namespace surgiclaw::servo
