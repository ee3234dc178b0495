#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surgiclaw::grabber {

/// Notices a camera that sends one picture again and again: noise makes two exposures differ, so equal ones
/// are one. Compares a few thousand pixels, spread over the frame. Of pixels at either end of the scale
/// nothing can be told; a frame that is all of them counts as new. One thread.
class PictureWatch {
 public:
  /// Whether the picture equals the one before it.
  bool repeats(const uint8_t* pixels, size_t count) {
    const size_t step = count / kSamples + 1;
    next_.clear();
    size_t telling = 0;
    for (size_t i = 0; i < count; i += step) {
      next_.push_back(pixels[i]);
      telling += pixels[i] != 0 && pixels[i] != 255;
    }
    const bool same = telling >= kTelling && next_ == last_;
    last_.swap(next_);
    return same;
  }
  /// The next picture is the first.
  void forget() { last_.clear(); }

 private:
  static constexpr size_t kSamples = 4096;
  static constexpr size_t kTelling = 64;
  std::vector<uint8_t> last_;
  std::vector<uint8_t> next_;
};

}  // namespace surgiclaw::grabber
