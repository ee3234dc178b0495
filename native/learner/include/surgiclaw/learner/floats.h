// A block of floats that begins at a cache line.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace surgiclaw::learner {

class Floats {
 public:
  Floats() = default;
  /// Zeros.
  explicit Floats(std::size_t count) : count_(count) {
    if (count == 0) return;
    const std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    memory_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_.get(), 0, bytes);
  }
  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }
  std::size_t size() const { return count_; }
  float& operator[](std::size_t index) { return memory_.get()[index]; }
  float operator[](std::size_t index) const { return memory_.get()[index]; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> memory_;
  std::size_t count_ = 0;
};

/// Columns of a row in memory: a multiple of 16 with room for `count`, never a multiple of 128, so that the
/// rows of a matrix do not all fall into the same few sets of the cache.
inline int stride(int count) {
  const int rounded = (count + 15) / 16 * 16;
  return rounded % 128 == 0 ? rounded + 16 : rounded;
}

}  // namespace surgiclaw::learner
