// Values one after the other in memory, with a checksum at the end: what a checkpoint is made of.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "surgiclaw/learner/error.h"

namespace surgiclaw::learner {

/// FNV-1a, 64 bits.
inline std::uint64_t checksum(const std::uint8_t* data, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001b3;
  return hash;
}

class ByteWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(&value, 1);
  }
  template <typename T>
  void put(const T* values, std::size_t count) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values);
    bytes_.insert(bytes_.end(), bytes, bytes + count * sizeof(T));
  }
  std::vector<std::uint8_t> finish() {
    put(checksum(bytes_.data(), bytes_.size()));
    return std::move(bytes_);
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  /// @throws LearnerError (kCheckpoint) when the checksum does not fit
  ByteReader(const std::uint8_t* data, std::size_t size) : data_(data), end_(size) {
    std::uint64_t wanted = 0;
    if (size < sizeof(wanted)) throw LearnerError(ErrorKind::kCheckpoint, "the checkpoint is cut short");
    end_ -= sizeof(wanted);
    std::memcpy(&wanted, data + end_, sizeof(wanted));
    if (checksum(data, end_) != wanted)
      throw LearnerError(ErrorKind::kCheckpoint, "the checkpoint does not fit its checksum");
  }
  template <typename T>
  T get() {
    T value;
    get(&value, 1);
    return value;
  }
  template <typename T>
  void get(T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = count * sizeof(T);
    if (bytes > end_ - at_) throw LearnerError(ErrorKind::kCheckpoint, "the checkpoint is cut short");
    if (bytes > 0) std::memcpy(values, data_ + at_, bytes);
    at_ += bytes;
  }
  bool atEnd() const { return at_ == end_; }

 private:
  const std::uint8_t* data_;
  std::size_t end_;
  std::size_t at_ = 0;
};

}  // namespace surgiclaw::learner
