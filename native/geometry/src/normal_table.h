// The standard normal distribution from a table: edges blurred by a Gaussian are everywhere in geometry.
#pragma once

#include <array>
#include <cmath>

namespace surgiclaw::geometry {

class NormalTable {
 public:
  struct Value {
    double cdf;
    double pdf;
  };

  NormalTable() {
    for (int i = 0; i <= kSteps; ++i) {
      const double x = -kRange + i * kStep;
      values_[static_cast<size_t>(i)] = {0.5 * std::erfc(-x / std::sqrt(2.0)),
                                         std::exp(-0.5 * x * x) / std::sqrt(2.0 * kPi)};
    }
  }

  /// Φ(x) and φ(x), errors below 1e-6.
  Value at(double x) const {
    const double position = (x + kRange) * kPerStep;
    // Written so that NaN lands outside, too.
    if (!(position >= 0 && position < kSteps)) return {x < 0 ? 0.0 : 1.0, 0.0};
    const auto index = static_cast<size_t>(position);
    const double fraction = position - static_cast<double>(index);
    const Value& a = values_[index];
    const Value& b = values_[index + 1];
    return {a.cdf + fraction * (b.cdf - a.cdf), a.pdf + fraction * (b.pdf - a.pdf)};
  }
  double cdf(double x) const { return at(x).cdf; }

 private:
  static constexpr double kPi = 3.14159265358979323846;
  static constexpr int kSteps = 4096;
  static constexpr double kRange = 6.0;
  static constexpr double kStep = 2 * kRange / kSteps;
  static constexpr double kPerStep = kSteps / (2 * kRange);

  std::array<Value, kSteps + 1> values_;
};

inline const NormalTable& normalTable() {
  static const NormalTable table;
  return table;
}

}  // namespace surgiclaw::geometry
