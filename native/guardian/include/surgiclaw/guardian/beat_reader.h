// Beats out of a byte stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "surgiclaw/realtime/beat.h"

namespace surgiclaw::guardian {

/// Finds whole beats in bytes that may come in any pieces. A daemon that died within a beat, or wrote the end
/// of one late, costs that beat alone: the reader looks for the next magic number.
class BeatReader {
 public:
  /// Feeds bytes; calls `take(const Beat&)` for each whole beat.
  template <typename Take>
  void feed(const unsigned char* bytes, size_t length, Take&& take) {
    for (size_t i = 0; i < length; ++i) {
      buffer_[used_++] = bytes[i];
      if (used_ <= sizeof(uint32_t)) {
        realign();
      } else if (used_ == sizeof(realtime::Beat)) {
        realtime::Beat beat;
        std::memcpy(&beat, buffer_.data(), sizeof beat);
        used_ = 0;
        take(beat);
      }
    }
  }
  /// Bytes that belonged to no beat.
  uint64_t skipped() const { return skipped_; }

 private:
  /// Drops leading bytes until what is left is a beginning of the magic number.
  void realign() {
    while (used_ > 0 && std::memcmp(buffer_.data(), &realtime::kBeatMagic, used_) != 0) {
      std::memmove(buffer_.data(), buffer_.data() + 1, --used_);
      ++skipped_;
    }
  }

  std::array<unsigned char, sizeof(realtime::Beat)> buffer_{};
  size_t used_ = 0;
  uint64_t skipped_ = 0;
};

}  // namespace surgiclaw::guardian
