#include "surgiclaw/learner/squashed_gaussian.h"

#include <cmath>

namespace surgiclaw::learner {

SquashedSample squash(float mean, float raw, float noise) {
  constexpr float kHalfRange = (kLogSigmaHigh - kLogSigmaLow) / 2;
  constexpr float kHalfLogTwoPi = 0.918938533204673F;
  constexpr float kLogTwo = 0.693147180559945F;
  const float bent = std::tanh(raw);
  const float logSigma = kLogSigmaLow + kHalfRange * (bent + 1);
  const float sigma = std::exp(logSigma);
  const float before = mean + sigma * noise;
  // log(1 - tanh(u)^2) = 2 (log 2 - |u| - log(1 + exp(-2 |u|))): finite however far u lies out.
  const float far = std::fabs(before);
  const float logSlope = 2 * (kLogTwo - far - std::log1p(std::exp(-2 * far)));
  return {std::tanh(before), -noise * noise / 2 - logSigma - kHalfLogTwoPi - logSlope, sigma,
          kHalfRange * (1 - bent * bent)};
}

}  // namespace surgiclaw::learner
