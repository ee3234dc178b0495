#include "surgiclaw/learner/alias_table.h"

#include <cmath>
#include <string>

#include "surgiclaw/learner/error.h"

namespace surgiclaw::learner {

AliasTable::AliasTable(const std::vector<double>& probabilities) {
  double total = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (!std::isfinite(probabilities[i]) || probabilities[i] < 0)
      throw LearnerError(ErrorKind::kData,
                         "probability of row " + std::to_string(i) + " is negative or not finite");
    total += probabilities[i];
  }
  if (!(total > 0)) throw LearnerError(ErrorKind::kData, "all probabilities are zero");
  const std::size_t count = probabilities.size();
  std::vector<double> share(count);
  std::vector<std::uint32_t> small;
  std::vector<std::uint32_t> large;
  for (std::size_t i = 0; i < count; ++i) {
    share[i] = probabilities[i] / total * static_cast<double>(count);
    (share[i] < 1 ? small : large).push_back(static_cast<std::uint32_t>(i));
  }
  keep_.assign(count, 1);
  other_.resize(count);
  for (std::size_t i = 0; i < count; ++i) other_[i] = static_cast<std::uint32_t>(i);
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back();
    const std::uint32_t high = large.back();
    small.pop_back();
    keep_[low] = static_cast<float>(share[low]);
    other_[low] = high;
    share[high] -= 1 - share[low];
    if (share[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
}

std::uint32_t AliasTable::draw(Random& random) const {
  const std::uint32_t index = random.below(static_cast<std::uint32_t>(keep_.size()));
  return random.uniform() < keep_[index] ? index : other_[index];
}

double AliasTable::probability(std::uint32_t index) const {
  double sum = 0;
  for (std::size_t i = 0; i < keep_.size(); ++i) {
    if (i == index) sum += keep_[i];
    if (other_[i] == index) sum += 1 - static_cast<double>(keep_[i]);
  }
  return sum / static_cast<double>(keep_.size());
}

}  // namespace surgiclaw::learner
