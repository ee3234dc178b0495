// The edge spread function of a point spread: how much of a half plane a pixel sees. E(x), x the distance of
// the pixel inside a straight edge in sigma: 0 far outside, 0.5 on the edge, 1 far inside. The point spread
// has unit second moment per axis. Closed forms without branches, so that loops over a row vectorise.
#pragma once

#include <cmath>

namespace surgiclaw::optics {

/// Gaussian point spread: the normal integral by Abramowitz and Stegun 7.1.28, error below 3e-7.
struct GaussianEdge {
  static constexpr float kReach = 3.5f;  ///< in sigma; beyond it the edge is not felt

  static inline __attribute__((always_inline)) float at(float x) {
    const float magnitude = std::fabs(x) * 0.70710678f;
    const float t =
        1.0f +
        magnitude *
            (0.0705230784f +
             magnitude *
                 (0.0422820123f +
                  magnitude * (0.0092705272f +
                               magnitude * (0.0001520143f +
                                            magnitude * (0.0002765672f + magnitude * 0.0000430638f)))));
    const float t2 = t * t, t4 = t2 * t2, t8 = t4 * t4;
    const float tail = 0.5f / (t8 * t8);
    return x < 0.0f ? tail : 1.0f - tail;
  }
};

/// Uniform disc of radius 2 (second moment per axis R^2 / 4 = 1): share of its area on the near side of the
/// edge, 1/2 + (asin q + q sqrt(1 - q^2)) / pi with q = x / 2; asin by Abramowitz and Stegun 4.4.46, error
/// below 2e-8.
struct DiscEdge {
  static constexpr float kReach = 2.0f;

  static inline __attribute__((always_inline)) float at(float x) {
    const float half = std::fabs(x) * 0.5f;
    const float q = half < 1.0f ? half : 1.0f;
    const float series =
        1.5707963050f +
        q * (-0.2145988016f +
             q * (0.0889789874f +
                  q * (-0.0501743046f +
                       q * (0.0308918810f +
                            q * (-0.0170881256f + q * (0.0066700901f + q * -0.0012624911f))))));
    const float asinQ = 1.57079632679f - std::sqrt(1.0f - q) * series;
    const float share = 0.31830988618f * (asinQ + q * std::sqrt(1.0f - q * q));
    return x < 0.0f ? 0.5f - share : 0.5f + share;
  }
};

}  // namespace surgiclaw::optics
