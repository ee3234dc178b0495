#include "surgiclaw/servo/envelope.h"

#include <algorithm>
#include <cstdlib>

namespace surgiclaw::servo {

std::string Envelope::refusal(const std::vector<int32_t>& from, const std::vector<int32_t>& to) const {
  if (from.size() != limits_.size() || to.size() != limits_.size())
    return "the number of axes does not match";
  for (size_t i = 0; i < limits_.size(); ++i) {
    const AxisLimits& limit = limits_[i];
    const std::string axis = "axis " + std::to_string(limit.axis) + ": ";
    if (to[i] < limit.minPulses || to[i] > limit.maxPulses) {
      return axis + "target " + std::to_string(to[i]) + " lies outside " + std::to_string(limit.minPulses) +
             "…" + std::to_string(limit.maxPulses) + " pulses";
    }
    const int64_t step = std::llabs(static_cast<int64_t>(to[i]) - from[i]);
    if (step > limit.maxStepPulses) {
      return axis + "a step of " + std::to_string(step) + " is above " + std::to_string(limit.maxStepPulses) +
             " pulses";
    }
  }
  return {};
}

std::vector<int32_t> approachLegs(int32_t position, int32_t target, int approach, int32_t approachPulses,
                                  bool seated, int32_t minPulses, int32_t maxPulses) {
  if (target == position) return {};
  const bool sameWay = (target > position) == (approach > 0);
  if ((sameWay && seated) || approachPulses <= 0) return {target};
  const int64_t beyond = static_cast<int64_t>(target) - static_cast<int64_t>(approach) * approachPulses;
  const auto held = static_cast<int32_t>(std::clamp<int64_t>(beyond, minPulses, maxPulses));
  // Not seated but coming the right way from further off than the point beyond: the way itself takes up the
  // play.
  const bool longWay = sameWay && std::llabs(static_cast<int64_t>(target) - position) >= approachPulses;
  if (longWay || held == position) return {target};
  if (held == target) return {target};
  return {held, target};
}

}  // namespace surgiclaw::servo
