// The ARIES line protocol as text: what a command looks like and what a reply says. Header only and without
// any dependency, because the guardian speaks it too. No allocation, no exceptions.
//
// Source: ARIES/LYNX manual Rev 1.43 pp. 47–55, restated in stages-needle-cameras.md A1–A2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace surgiclaw::servo {

/// RS-232 wants STX before each command; over TCP an STX is a command error.
enum class AriesFraming { kTcp, kSerial };

constexpr char kAriesStx = 0x02;

/// Coordinates are 28 bit on every axis.
constexpr int32_t kAriesMinPulses = -134217728;
constexpr int32_t kAriesMaxPulses = 134217727;

/// One line of a controller, taken apart.
struct AriesReply {
  char kind = 0;                     ///< 'C' done or accepted, 'W' warning, 'E' error
  std::array<char, 4> command{};     ///< three letters and a terminator: "STR", "SYS"
  int axis = -1;                     ///< number after the letters, 0 means all axes, −1 none
  int valueCount = 0;                ///< how many of `values` are set
  std::array<int32_t, 12> values{};  ///< the integer fields; parsing stops at a field that is not one

  bool is(const char* name, int forAxis) const {
    return std::strncmp(command.data(), name, 3) == 0 && axis == forAxis;
  }
  /// Sent by itself, to every client (`SYS`): never the reply to a command.
  bool spontaneous() const { return std::strncmp(command.data(), "SYS", 3) == 0; }
  /// Code of a W or E line, 0 when there is none.
  int code() const { return kind != 'C' && valueCount > 0 ? values[0] : 0; }
};

/// Reads one field as a decimal integer (sign allowed); false for anything else or above 32 bits.
inline bool parseAriesInteger(const char* begin, const char* end, int32_t& value) {
  if (begin == end) return false;
  const bool negative = *begin == '-';
  if (negative || *begin == '+') ++begin;
  if (begin == end || end - begin > 10) return false;
  int64_t sum = 0;
  for (; begin != end; ++begin) {
    if (*begin < '0' || *begin > '9') return false;
    sum = sum * 10 + (*begin - '0');
  }
  if (negative) sum = -sum;
  if (sum < INT32_MIN || sum > INT32_MAX) return false;
  value = static_cast<int32_t>(sum);
  return true;
}

/// Parses one line without its CR LF. False for anything that is not a reply: nothing is repaired.
inline bool parseAriesReply(const char* line, size_t length, AriesReply& reply) {
  reply = AriesReply{};
  const char* const end = line + length;
  if (length < 5 || (line[0] != 'C' && line[0] != 'W' && line[0] != 'E') || line[1] != '\t') return false;
  const char* at = line + 2;
  for (size_t letter = 0; letter < 3; ++letter, ++at) {
    if (*at < 'A' || *at > 'Z') return false;
    reply.command[letter] = *at;
  }
  const char* fieldEnd = static_cast<const char*>(std::memchr(at, '\t', static_cast<size_t>(end - at)));
  if (fieldEnd == nullptr) fieldEnd = end;
  if (at != fieldEnd) {
    int32_t axis = 0;
    if (!parseAriesInteger(at, fieldEnd, axis) || axis < 0 || axis > 32) return false;
    reply.axis = axis;
  }
  reply.kind = line[0];
  at = fieldEnd;
  while (at != end && reply.valueCount < static_cast<int>(reply.values.size())) {
    ++at;  // the tab
    fieldEnd = static_cast<const char*>(std::memchr(at, '\t', static_cast<size_t>(end - at)));
    if (fieldEnd == nullptr) fieldEnd = end;
    int32_t value = 0;
    if (!parseAriesInteger(at, fieldEnd, value)) break;
    reply.values[static_cast<size_t>(reply.valueCount++)] = value;
    at = fieldEnd;
  }
  return true;
}

/// Writes [STX]`text`CR LF into `out`; returns its length, 0 when it does not fit.
inline size_t encodeAries(AriesFraming framing, const char* text, char* out, size_t capacity) {
  const int written =
      std::snprintf(out, capacity, "%s%s\r\n", framing == AriesFraming::kSerial ? "\x02" : "", text);
  return written > 0 && static_cast<size_t>(written) < capacity ? static_cast<size_t>(written) : 0;
}

/// Cuts a byte stream into lines at CR LF. Bytes come in any pieces; a line that outgrows the buffer is
/// dropped whole and counted.
class AriesLines {
 public:
  /// Where to read into, and how much fits. Never empty.
  char* space() { return buffer_.data() + used_; }
  size_t room() const { return buffer_.size() - used_; }
  void filled(size_t bytes) {
    used_ += bytes;
    if (used_ == buffer_.size() && !hasLine()) {
      // A CR at the very end may be half of the line's end: without it the next line would be dropped, too.
      const bool halfEnd = buffer_[used_ - 1] == '\r';
      if (halfEnd) buffer_[0] = '\r';
      used_ = halfEnd ? 1 : 0;
      skipping_ = true;
      ++overlong_;
    }
  }
  /// Takes the next whole line; false when there is none.
  bool next(AriesReply& reply) {
    size_t length = 0;
    while (findLine(length)) {
      const bool cut = skipping_;
      skipping_ = false;
      const bool good = !cut && parseAriesReply(buffer_.data(), length, reply);
      const size_t consumed = length + 2;
      std::memmove(buffer_.data(), buffer_.data() + consumed, used_ - consumed);
      used_ -= consumed;
      if (good) return true;
      ++malformed_;
    }
    return false;
  }
  void reset() {
    used_ = 0;
    skipping_ = false;
  }
  uint32_t malformed() const { return malformed_; }
  uint32_t overlong() const { return overlong_; }

 private:
  bool findLine(size_t& length) const {
    for (size_t i = 0; i + 1 < used_; ++i) {
      if (buffer_[i] == '\r' && buffer_[i + 1] == '\n') {
        length = i;
        return true;
      }
    }
    return false;
  }
  bool hasLine() const {
    size_t length = 0;
    return findLine(length);
  }

  std::array<char, 512> buffer_{};
  size_t used_ = 0;
  bool skipping_ = false;
  uint32_t malformed_ = 0;
  uint32_t overlong_ = 0;
};

}  // namespace surgiclaw::servo
