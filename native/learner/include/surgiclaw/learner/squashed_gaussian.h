// The policy's distribution: a Gaussian squashed by tanh (Haarnoja et al. 2018, appendix C).
#pragma once

namespace surgiclaw::learner {

/// The head of the actor gives, for each action, a mean and a raw spread: log sigma = low + (high -
/// low)(tanh(raw) + 1)/2.
constexpr float kLogSigmaLow = -5;
constexpr float kLogSigmaHigh = 2;

struct SquashedSample {
  float action;
  /// log pi of this component.
  float logDensity;
  float sigma;
  /// d log sigma / d raw.
  float spreadSlope;
};

/// @param noise standard normal
SquashedSample squash(float mean, float raw, float noise);

}  // namespace surgiclaw::learner
