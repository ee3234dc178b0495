// Why something may not go on the wire, and how numbers are judged before anything else is asked of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace surgiclaw::envelope {

/// A verdict: empty when the bytes may go. The code is one of the catalogue in src/base/errors.ts.
struct Refusal {
  const char* code = nullptr;
  std::string detail;
  explicit operator bool() const { return code != nullptr; }
};

/// Not finite, no whole number, or more than the field on the wire holds.
Refusal noNumber(std::string detail);
/// Sound, but beyond what this device may be asked for.
Refusal beyondDevice(std::string detail);
/// Nothing that a driver sends, or beyond what the cell allows itself.
Refusal beyondEnvelope(std::string detail);

/// As a person reads it: up to nine digits, `nan` and `inf` by name.
std::string shown(double value);

/// A whole number in [low, high]; low and high lie within the wire's field, so that nothing can wrap around
/// there.
Refusal wholeWithin(double value, int64_t low, int64_t high, const std::string& what);

/// The decimal whole number that `text` is, with an optional minus: nothing for `NaN`, `1e+21`, `0.5`, an
/// empty text, or what 32 bits with sign cannot hold.
std::optional<int32_t> wholeNumber(std::string_view text);

}  // namespace surgiclaw::envelope
