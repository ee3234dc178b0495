// What the learner refuses, by kind.
#pragma once

#include <stdexcept>
#include <string>

namespace surgiclaw::learner {

enum class ErrorKind {
  /// An option or a size is out of range.
  kOptions,
  /// Data holds NaN, infinity or a negative probability; the message says where.
  kData,
  /// A checkpoint is damaged, of another version or of a learner with other options.
  kCheckpoint,
  /// Nothing to learn from yet.
  kState,
};

class LearnerError : public std::runtime_error {
 public:
  LearnerError(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace surgiclaw::learner
