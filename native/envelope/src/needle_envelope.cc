#include "surgiclaw/envelope/needle_envelope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace surgiclaw::envelope {
namespace {

constexpr double kLongestDwellMs = 60000;

enum class Field { kPosition, kSpeed, kAcceleration, kDwell };

struct Register {
  int address;
  Field field;
  const char* name;
};

/// Holding registers behind the command, without a gap; all but the dwell take two words, the high one first.
constexpr std::array<Register, 10> kMap = {{
    {1, Field::kPosition, "target"},
    {3, Field::kSpeed, "speed"},
    {5, Field::kAcceleration, "acceleration"},
    {7, Field::kPosition, "lower limit"},
    {9, Field::kPosition, "upper limit"},
    {11, Field::kPosition, "depth"},
    {13, Field::kDwell, "dwell"},
    {14, Field::kPosition, "end of the way back"},
    {16, Field::kSpeed, "speed of the way back"},
    {18, Field::kAcceleration, "acceleration of the way back"},
}};

Refusal atMost(double value, double limit, const std::string& what) {
  if (!std::isfinite(value)) return noNumber(what + " is " + shown(value));
  if (!(value > 0 && value <= limit * (1 + 1e-9))) {
    return beyondDevice(what + " " + shown(value) + " lies outside 0…" + shown(limit));
  }
  return {};
}

std::vector<std::string_view> wordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    if (space != 0) words.push_back(text.substr(0, space));
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
  }
  return words;
}

bool address(std::string_view word) {
  return !word.empty() && word.size() <= 2 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool are(const std::vector<std::string_view>& words, std::initializer_list<std::string_view> wanted) {
  return std::equal(words.begin(), words.end(), wanted.begin(), wanted.end());
}

bool begins(const std::vector<std::string_view>& words, std::initializer_list<std::string_view> wanted,
            size_t count) {
  return words.size() == count && std::equal(wanted.begin(), wanted.end(), words.begin());
}

}  // namespace

Refusal NeedleEnvelope::position(double microsteps, const std::string& what) const {
  return wholeWithin(microsteps, 0, limits_.travel, what + " in microsteps");
}

Refusal NeedleEnvelope::motion(double speed, double acceleration) const {
  if (Refusal refusal = atMost(speed, limits_.maxSpeed, "speed in microsteps/s")) return refusal;
  return atMost(acceleration, limits_.maxAcceleration, "acceleration in microsteps/s²");
}

Refusal NeedleEnvelope::dwell(double milliseconds) {
  return wholeWithin(milliseconds, 0, static_cast<int64_t>(kLongestDwellMs), "dwell in ms");
}

Refusal NeedleEnvelope::positionData(std::string_view text) const {
  const std::optional<int32_t> value = wholeNumber(text);
  if (!value) return noNumber("position " + std::string(text) + " is no whole number of 32 bits");
  return position(*value, "position");
}

Refusal NeedleEnvelope::speedData(std::string_view text) const {
  const std::optional<int32_t> value = wholeNumber(text);
  if (!value) return noNumber("speed " + std::string(text) + " is no whole number of 32 bits");
  return atMost(*value, std::floor(limits_.maxSpeed * limits_.speedScale * (1 + 1e-9)), "speed as data");
}

Refusal NeedleEnvelope::accelerationData(std::string_view text) const {
  const std::optional<int32_t> value = wholeNumber(text);
  if (!value) return noNumber("acceleration " + std::string(text) + " is no whole number of 32 bits");
  const double most =
      std::max(1.0, std::floor(limits_.maxAcceleration * limits_.accelerationScale * (1 + 1e-9)));
  return atMost(*value, most, "acceleration as data");
}

Refusal NeedleEnvelope::line(std::string_view bytes) const {
  const bool ended = bytes.size() >= 3 && bytes.substr(bytes.size() - 2) == "\r\n";
  std::string_view text = ended ? bytes.substr(0, bytes.size() - 2) : bytes;
  // A line end or a slash within would begin a command of its own.
  if (!ended || text.front() != '/' || text.find_first_of("/\r\n", 1) != std::string_view::npos) {
    return beyondEnvelope("what is to be written is not one command");
  }
  text.remove_prefix(1);
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    if (text.size() - colon != 3) return beyondEnvelope("what follows the colon is no checksum");
    text = text.substr(0, colon);
  }
  std::vector<std::string_view> words = wordsOf(text);
  for (int i = 0; i < 3 && !words.empty() && address(words.front()); ++i) words.erase(words.begin());
  Refusal refusal = command(words);
  if (refusal) refusal.detail = "\"" + std::string(text) + "\": " + refusal.detail;
  return refusal;
}

Refusal NeedleEnvelope::command(const std::vector<std::string_view>& words) const {
  if (words.empty() || are(words, {"stop"}) || are(words, {"estop"}) || are(words, {"home"})) return {};
  if (are(words, {"warnings"}) || are(words, {"warnings", "clear"}) || are(words, {"driver", "enable"}))
    return {};
  if (words[0] == "get" && words.size() == 2) return {};
  if (begins(words, {"move", "abs"}, 5)) {
    if (Refusal refusal = positionData(words[2])) return refusal;
    if (Refusal refusal = speedData(words[3])) return refusal;
    return accelerationData(words[4]);
  }
  if (begins(words, {"set", "limit.max"}, 3)) return positionData(words[2]);
  if (begins(words, {"set", "comm.checksum"}, 3) || begins(words, {"set", "comm.alert"}, 3)) {
    return words[2] == "0" || words[2] == "1" ? Refusal{} : noNumber("neither 0 nor 1");
  }
  if (words[0] == "stream" && words.size() > 2 && words[1] == "1") {
    const std::vector<std::string_view> stream(words.begin() + 2, words.end());
    if (are(stream, {"setup", "live", "1"}) || are(stream, {"setup", "disable"})) return {};
    if (are(stream, {"fifo", "cork"}) || are(stream, {"fifo", "uncork"})) return {};
    if (begins(stream, {"line", "abs"}, 3)) return positionData(stream[2]);
    if (begins(stream, {"set", "maxspeed"}, 3)) return speedData(stream[2]);
    if (begins(stream, {"set", "tanaccel"}, 3)) return accelerationData(stream[2]);
    if (begins(stream, {"wait"}, 2)) {
      const std::optional<int32_t> value = wholeNumber(stream[1]);
      return value ? dwell(*value) : noNumber("dwell " + std::string(stream[1]) + " is no whole number");
    }
  }
  return beyondEnvelope("no command that is sent to the needle here");
}

Refusal NeedleEnvelope::registers(int address, const std::vector<double>& values,
                                  std::vector<uint16_t>& words) const {
  const auto first = std::find_if(kMap.begin(), kMap.end(),
                                  [address](const Register& one) { return one.address == address; });
  if (first == kMap.end() || values.empty() || values.size() > static_cast<size_t>(kMap.end() - first)) {
    return beyondEnvelope("no such row of registers from " + std::to_string(address) + " on");
  }
  std::vector<uint16_t> made;
  for (size_t i = 0; i < values.size(); ++i) {
    const Register& at = *(first + static_cast<std::ptrdiff_t>(i));
    double value = values[i];
    Refusal refusal;
    switch (at.field) {
      case Field::kPosition:
        refusal = position(value, at.name);
        break;
      case Field::kSpeed:
        refusal = atMost(value, limits_.maxSpeed, at.name);
        break;
      case Field::kAcceleration:
        refusal = atMost(value, limits_.maxAcceleration, at.name);
        break;
      case Field::kDwell:
        refusal = dwell(value);
        break;
    }
    if (refusal) return refusal;
    // Never faster than asked, but never standing where motion was asked for.
    if (at.field == Field::kSpeed || at.field == Field::kAcceleration)
      value = std::max(1.0, std::floor(value));
    if (value > static_cast<double>(std::numeric_limits<uint32_t>::max())) {
      return noNumber(std::string(at.name) + " " + shown(value) + " is more than two registers hold");
    }
    const auto bits = static_cast<uint32_t>(value);
    if (at.field != Field::kDwell) made.push_back(static_cast<uint16_t>(bits >> 16));
    made.push_back(static_cast<uint16_t>(bits & 0xffff));
  }
  words = std::move(made);
  return {};
}

}  // namespace surgiclaw::envelope
