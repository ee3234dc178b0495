#include "surgiclaw/envelope/refusal.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace surgiclaw::envelope {

Refusal noNumber(std::string detail) { return {"UNIT_NOT_FINITE", std::move(detail)}; }
Refusal beyondDevice(std::string detail) { return {"DEVICE_LIMIT", std::move(detail)}; }
Refusal beyondEnvelope(std::string detail) { return {"SAFETY_ENVELOPE", std::move(detail)}; }

std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

Refusal wholeWithin(double value, int64_t low, int64_t high, const std::string& what) {
  if (!std::isfinite(value) || value != std::floor(value)) {
    return noNumber(what + " " + shown(value) + " is no whole number");
  }
  if (value < static_cast<double>(low) || value > static_cast<double>(high)) {
    return beyondDevice(what + " " + shown(value) + " lies outside " + std::to_string(low) + "…" +
                        std::to_string(high));
  }
  return {};
}

std::optional<int32_t> wholeNumber(std::string_view text) {
  int32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, 10);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace surgiclaw::envelope
