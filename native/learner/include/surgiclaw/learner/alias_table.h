// Draws from fixed probabilities in constant time (Walker 1977, Vose 1991).
#pragma once

#include <cstdint>
#include <vector>

#include "surgiclaw/learner/random.h"

namespace surgiclaw::learner {

class AliasTable {
 public:
  AliasTable() = default;
  /// Probabilities are normalised. @throws LearnerError (kData) for a negative or non-finite one, or when all
  /// are zero
  explicit AliasTable(const std::vector<double>& probabilities);
  std::size_t size() const { return keep_.size(); }
  std::uint32_t draw(Random& random) const;
  /// The probability with which `draw` gives `index`: what the table holds, for tests.
  double probability(std::uint32_t index) const;

 private:
  std::vector<float> keep_;
  std::vector<std::uint32_t> other_;
};

}  // namespace surgiclaw::learner
