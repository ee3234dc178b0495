#include "surgiclaw/envelope/stage_envelope.h"

#include <algorithm>
#include <array>

namespace surgiclaw::envelope {
namespace {

/// Commands that move nothing and change no limit.
constexpr std::array<std::string_view, 9> kHarmless = {"IDN", "RAX", "RTB", "STR", "RDP",
                                                       "ROG", "REM", "RSY", "RMS"};
/// The one system setting that the driver writes: the method of the origin search (manual page 113).
constexpr int32_t kOriginMethod = 2;

bool capitals(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

const StageAxis* StageEnvelope::find(double number) const {
  const auto found = std::find_if(axes_.begin(), axes_.end(),
                                  [number](const StageAxis& axis) { return axis.number == number; });
  return found == axes_.end() ? nullptr : &*found;
}

Refusal StageEnvelope::target(int number, double pulses, const std::string& what) const {
  const StageAxis* const axis = find(number);
  const std::string name = "axis " + std::to_string(number);
  if (axis == nullptr) return beyondEnvelope(name + " is not configured");
  return wholeWithin(pulses, axis->minPulses, axis->maxPulses, name + ": " + what + " in pulses");
}

Refusal StageEnvelope::line(std::string_view bytes) const {
  if (!bytes.empty() && bytes.front() == '\x02') bytes.remove_prefix(1);
  const bool ended = bytes.size() >= 5 && bytes.substr(bytes.size() - 2) == "\r\n";
  const std::string_view text = ended ? bytes.substr(0, bytes.size() - 2) : bytes;
  // A line end or an STX within would begin a command of its own.
  if (!ended || text.find_first_of("\r\n\x02") != std::string_view::npos || !capitals(text.substr(0, 3))) {
    return beyondEnvelope("what is to be written is not one command");
  }
  const std::string_view command = text.substr(0, 3);
  if (command == "STP") return {};

  std::vector<int32_t> parameters;
  std::string_view rest = text.substr(3);
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    const std::string_view field = rest.substr(0, slash);
    const std::optional<int32_t> value = wholeNumber(field);
    if (!value)
      return noNumber(std::string(text) + ": " + std::string(field) + " is no whole number of 32 bits");
    parameters.push_back(*value);
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
    if (rest.empty()) return noNumber(std::string(text) + ": its last parameter is missing");
  }

  Refusal refusal;
  if (command == "APS") {
    refusal = drive(parameters);
  } else if (command == "ORG") {
    refusal = origin(parameters);
  } else if (command == "ASI" && family_ == StageFamily::kSc) {
    refusal = speed(parameters);
  } else if (command == "WSY") {
    if (parameters.size() != 3 || find(parameters[0]) == nullptr || parameters[1] != kOriginMethod ||
        parameters[2] < 1 || parameters[2] > 15) {
      refusal = beyondEnvelope("only the origin method of a configured axis is written");
    }
  } else if (std::find(kHarmless.begin(), kHarmless.end(), command) == kHarmless.end()) {
    refusal = beyondEnvelope("no command that is sent to stages here");
  }
  if (refusal) refusal.detail = std::string(text) + ": " + refusal.detail;
  return refusal;
}

Refusal StageEnvelope::drive(const std::vector<int32_t>& parameters) const {
  const bool aries = family_ == StageFamily::kAries;
  if (parameters.size() != (aries ? 4 : 8)) return beyondEnvelope("a drive of another form");
  if (aries && (parameters[1] < 0 || parameters[1] > 9)) return beyondEnvelope("no speed table");
  return target(parameters[0], parameters[aries ? 2 : 4], "target");
}

Refusal StageEnvelope::origin(const std::vector<int32_t>& parameters) const {
  if (parameters.size() != (family_ == StageFamily::kAries ? 3 : 6)) {
    return beyondEnvelope("an origin search of another form");
  }
  return find(parameters[0]) == nullptr ? beyondEnvelope("the axis is not configured") : Refusal{};
}

Refusal StageEnvelope::speed(const std::vector<int32_t>& parameters) const {
  const StageAxis* const axis = parameters.size() < 3 ? nullptr : find(parameters[0]);
  if (axis == nullptr) return beyondEnvelope("the speed of an axis that is not configured");
  if (Refusal refusal = wholeWithin(parameters[2], 1, axis->maxPps, "top speed in pulses/s")) return refusal;
  return wholeWithin(parameters[1], 1, parameters[2], "start speed in pulses/s");
}

}  // namespace surgiclaw::envelope
