// The standard normal distribution from a table: edges blurred by a Gaussian are everywhere in geometry.
#pragma once

#include <array>
#include <cmath>

namespace surgiclaw::geometry {

class NormalTable {
 public:
  NormalTable() {
    for (int i = 0; i <= kSteps; ++i) {
      const double x = -kRange + i * kStep;
      cdf_[static_cast<size_t>(i)] = 0.5 * std::erfc(-x / std::sqrt(2.0));
      pdf_[static_cast<size_t>(i)] = std::exp(-0.5 * x * x) / std::sqrt(2.0 * kPi);
    }
  }

  /// Φ(x), error below 1e-6.
  double cdf(double x) const { return lookUp(cdf_, x, x < 0 ? 0.0 : 1.0); }
  /// φ(x), error below 1e-6.
  double pdf(double x) const { return lookUp(pdf_, x, 0.0); }

 private:
  static constexpr double kPi = 3.14159265358979323846;
  static constexpr int kSteps = 4096;
  static constexpr double kRange = 6.0;
  static constexpr double kStep = 2 * kRange / kSteps;

  static double lookUp(const std::array<double, kSteps + 1>& table, double x, double outside) {
    const double position = (x + kRange) / kStep;
    // Written so that NaN lands outside, too.
    if (!(position >= 0 && position < kSteps)) return outside;
    const auto index = static_cast<size_t>(position);
    const double fraction = position - static_cast<double>(index);
    return table[index] + fraction * (table[index + 1] - table[index]);
  }

  std::array<double, kSteps + 1> cdf_;
  std::array<double, kSteps + 1> pdf_;
};

inline const NormalTable& normalTable() {
  static const NormalTable table;
  return table;
}

}  // namespace surgiclaw::geometry
