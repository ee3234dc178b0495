#include "row_kernels.h"

#include <cmath>

#include "edge_spread.h"

// Clones are bound by an indirect function at load time, before the sanitizers are ready for instrumented
// code.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SURGICLAW_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SURGICLAW_CLONES
#endif
// A helper that is not inlined would stay in the base instruction set.
#define SURGICLAW_INLINE static inline __attribute__((always_inline))

namespace surgiclaw::optics {
namespace {

SURGICLAW_INLINE std::uint16_t times(std::uint16_t value, std::uint16_t weight) {
  return static_cast<std::uint16_t>((static_cast<std::uint32_t>(value) * weight) >> 16);
}

SURGICLAW_INLINE float low(float a, float b) { return a < b ? a : b; }
SURGICLAW_INLINE float high(float a, float b) { return a > b ? a : b; }

/// Blur at a place on the axis, px.
SURGICLAW_INLINE float sigmaAt(const BarRow& bar, float fraction) {
  constexpr float kSharp2 = 0.8f * 0.8f;
  const float defocus = bar.defocus + bar.defocusSlope * fraction;
  return std::sqrt(kSharp2 + defocus * defocus);
}

/// What a pixel of a bar knows about its place on it.
struct Place {
  float across, halfWidth, sigma, perSigma, perEdge, start, end;
};
SURGICLAW_INLINE Place placeOf(const BarRow& bar, int i) {
  const float x = static_cast<float>(i);
  const float fraction = low(high((bar.along0 + bar.alongStep * x) * bar.inverseLength, 0.0f), 1.0f);
  const float sigma = sigmaAt(bar, fraction);
  const float perSigma = 1.0f / sigma;
  return {bar.across0 + bar.acrossStep * x,
          bar.halfWidth + bar.halfWidthSlope * fraction,
          sigma,
          perSigma,
          perSigma * bar.edgeFactor,
          bar.start0 + bar.startStep * x,
          bar.end0 + bar.endStep * x};
}

/// Reflectance across a round bar: a bright line where the lamp is mirrored, washed out by the blur.
SURGICLAW_INLINE float shade(const BarRow& bar, const Place& p) {
  const float perHalfWidth = 1.0f / p.halfWidth;
  const float blurred = p.sigma * perHalfWidth;
  const float perWidth = 1.0f / std::sqrt(bar.highlightWidth * bar.highlightWidth + blurred * blurred);
  const float q = p.across * perHalfWidth * perWidth;
  const float fall = 1.0f + 0.5f * q * q;
  return bar.reflectance + bar.highlight * bar.highlightWidth * perWidth / (fall * fall);
}

/// Share of the point spread between the long edges of the bar.
template <typename Edge>
SURGICLAW_INLINE float crossShare(const Place& p) {
  return Edge::at((p.halfWidth - p.across) * p.perEdge) - Edge::at((-p.halfWidth - p.across) * p.perEdge);
}

template <typename Edge>
SURGICLAW_INLINE void bodyLoop(const BarRow& bar, float* __restrict coverage, float* __restrict light,
                               int count) {
  for (int i = 0; i < count; ++i) {
    const Place p = placeOf(bar, i);
    const float inside = Edge::at(p.start * p.perSigma) + Edge::at(p.end * p.perSigma) - 1.0f;
    const float covered = high(inside, 0.0f) * crossShare<Edge>(p);
    coverage[i] = covered;
    light[i] = covered * shade(bar, p);
  }
}

template <typename Edge>
SURGICLAW_INLINE void middleLoop(const BarRow& bar, float* __restrict coverage, float* __restrict light,
                                 int count) {
  for (int i = 0; i < count; ++i) {
    const Place p = placeOf(bar, i);
    const float covered = crossShare<Edge>(p);
    coverage[i] = covered;
    light[i] = covered * shade(bar, p);
  }
}

template <typename Edge>
SURGICLAW_INLINE void stripsLoop(const BarRow& bar, const float* __restrict startReach,
                                 const float* __restrict endReach, int strips, float* __restrict coverage,
                                 float* __restrict light, int count) {
  for (int i = 0; i < count; ++i) coverage[i] = 0;
  for (int k = 0; k < strips; ++k) {
    const float left = static_cast<float>(2 * k) / static_cast<float>(strips) - 1.0f;
    const float right = static_cast<float>(2 * (k + 1)) / static_cast<float>(strips) - 1.0f;
    const float before = startReach[k], after = endReach[k];
    for (int i = 0; i < count; ++i) {
      const Place p = placeOf(bar, i);
      const float inside =
          Edge::at((p.start + before) * p.perSigma) + Edge::at((p.end + after) * p.perSigma) - 1.0f;
      coverage[i] += high(inside, 0.0f) * (Edge::at((p.halfWidth * right - p.across) * p.perEdge) -
                                           Edge::at((p.halfWidth * left - p.across) * p.perEdge));
    }
  }
  for (int i = 0; i < count; ++i) {
    const Place p = placeOf(bar, i);
    light[i] = coverage[i] * shade(bar, p);
  }
}

template <typename Edge>
SURGICLAW_INLINE void roundLoop(const BarRow& bar, const SharpEnd& end, float* __restrict coverage,
                                float* __restrict light, int count) {
  const float near0 = end.atEnd ? bar.end0 : bar.start0, nearStep = end.atEnd ? bar.endStep : bar.startStep;
  const float far0 = end.atEnd ? bar.start0 : bar.end0, farStep = end.atEnd ? bar.startStep : bar.endStep;
  const float halfCurvature = 0.5f / end.radius;
  for (int i = 0; i < count; ++i) {
    const Place p = placeOf(bar, i);
    const float x = static_cast<float>(i);
    // Beyond the line distance counts from the ball's centre. A blurred round edge lies sigma^2 / 2 r further
    // in than a straight one.
    const float beyond = high(-(near0 + nearStep * x), 0.0f);
    const float distance = std::sqrt(beyond * beyond + p.across * p.across);
    const float shift = (beyond > 0.0f ? halfCurvature : 0.0f) * p.sigma;
    const float other = Edge::at((far0 + farStep * x) * p.perSigma);
    const float covered = other * Edge::at((p.halfWidth - distance) * p.perEdge - shift);
    coverage[i] = covered;
    light[i] = covered * shade(bar, p);
  }
}

template <typename Edge>
SURGICLAW_INLINE void cutLoop(const BarRow& bar, const SharpEnd& end, float* __restrict coverage,
                              float* __restrict light, int count) {
  const float near0 = end.atEnd ? bar.end0 : bar.start0, nearStep = end.atEnd ? bar.endStep : bar.startStep;
  const float far0 = end.atEnd ? bar.start0 : bar.end0, farStep = end.atEnd ? bar.startStep : bar.endStep;
  const float slope = end.slope, bulge = end.bulge;
  for (int i = 0; i < count; ++i) {
    const Place p = placeOf(bar, i);
    const float q = low(high(p.across / p.halfWidth, -0.98f), 0.98f);
    const float root = std::sqrt(1.0f - q * q);
    const float tilt = (slope - bulge * q / root) / p.halfWidth;
    const float x = static_cast<float>(i);
    const float inside = (near0 + nearStep * x + slope * q + bulge * root) / std::sqrt(1.0f + tilt * tilt);
    const float other = Edge::at((far0 + farStep * x) * p.perSigma);
    const float covered = other * Edge::at(inside * p.perSigma) * crossShare<Edge>(p);
    coverage[i] = covered;
    light[i] = covered * shade(bar, p);
  }
}

template <bool compressive>
SURGICLAW_INLINE void senseLoop(const SensorRow& sensor, const float* __restrict reflectance,
                                const std::int8_t* __restrict noise, std::uint8_t* __restrict out,
                                int count) {
  const SensorRow s = sensor;
  const float perWhite = s.compression / s.whiteGrey;
  for (int i = 0; i < count; ++i) {
    const float dx = s.dx0 + s.dxStep * static_cast<float>(i);
    const float lens = s.electrons * (1.0f - s.vignetting * (dx * dx + s.dy2));
    const float mean = reflectance[i] * lens;
    const float sigma = std::sqrt(mean + s.readVariance);
    const float electrons = low(mean + sigma * (s.noiseScale * static_cast<float>(noise[i])), s.fullWell);
    float grey = electrons * s.greyPerElectron;
    // The response leaves black and white where they are and lifts what lies between.
    if (compressive) grey *= (1.0f + s.compression) / (1.0f + perWhite * high(grey, 0.0f));
    const int whole = static_cast<int>(s.blackLevel + grey + 0.5f);
    out[i] = static_cast<std::uint8_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
  }
}

}  // namespace

SURGICLAW_CLONES void blendFourRows(const std::uint16_t* a, const std::uint16_t* b, const std::uint16_t* c,
                                    const std::uint16_t* d, const std::uint16_t weights[4],
                                    std::uint16_t* __restrict out, int count) {
  const std::uint16_t wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
  for (int i = 0; i < count; ++i) {
    out[i] =
        static_cast<std::uint16_t>(times(a[i], wa) + times(b[i], wb) + times(c[i], wc) + times(d[i], wd));
  }
}

SURGICLAW_CLONES void shiftRow(const std::uint16_t* in, std::uint16_t left, std::uint16_t right, float factor,
                               float* __restrict out, int count) {
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<std::uint16_t>(times(in[i], left) + times(in[i + 1], right));
    out[i] = factor * static_cast<float>(value);
  }
}

SURGICLAW_CLONES void expandRow(const std::uint16_t* in, const float weights[12], float* __restrict out,
                                int groups) {
  const float w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3], w4 = weights[4],
              w5 = weights[5], w6 = weights[6], w7 = weights[7], w8 = weights[8], w9 = weights[9],
              w10 = weights[10], w11 = weights[11];
  for (int j = 0; j < groups; ++j) {
    const float a = in[j], b = in[j + 1], c = in[j + 2];
    out[4 * j] = a * w0 + b * w1 + c * w2;
    out[4 * j + 1] = a * w3 + b * w4 + c * w5;
    out[4 * j + 2] = a * w6 + b * w7 + c * w8;
    out[4 * j + 3] = a * w9 + b * w10 + c * w11;
  }
}

SURGICLAW_CLONES void barBody(const BarRow& bar, ImageModel model, float* coverage, float* light, int count) {
  if (model == ImageModel::kDisc)
    bodyLoop<DiscEdge>(bar, coverage, light, count);
  else
    bodyLoop<GaussianEdge>(bar, coverage, light, count);
}

SURGICLAW_CLONES void barMiddle(const BarRow& bar, ImageModel model, float* coverage, float* light,
                                int count) {
  if (model == ImageModel::kDisc)
    middleLoop<DiscEdge>(bar, coverage, light, count);
  else
    middleLoop<GaussianEdge>(bar, coverage, light, count);
}

SURGICLAW_CLONES void barStrips(const BarRow& bar, ImageModel model, const float* startReach,
                                const float* endReach, int strips, float* coverage, float* light, int count) {
  if (model == ImageModel::kDisc)
    stripsLoop<DiscEdge>(bar, startReach, endReach, strips, coverage, light, count);
  else
    stripsLoop<GaussianEdge>(bar, startReach, endReach, strips, coverage, light, count);
}

SURGICLAW_CLONES void barRound(const BarRow& bar, ImageModel model, const SharpEnd& end, float* coverage,
                               float* light, int count) {
  if (model == ImageModel::kDisc)
    roundLoop<DiscEdge>(bar, end, coverage, light, count);
  else
    roundLoop<GaussianEdge>(bar, end, coverage, light, count);
}

SURGICLAW_CLONES void barCut(const BarRow& bar, ImageModel model, const SharpEnd& end, float* coverage,
                             float* light, int count) {
  if (model == ImageModel::kDisc)
    cutLoop<DiscEdge>(bar, end, coverage, light, count);
  else
    cutLoop<GaussianEdge>(bar, end, coverage, light, count);
}

SURGICLAW_CLONES void composite(float* __restrict row, float* __restrict taken,
                                const float* __restrict coverage, const float* __restrict light, int count) {
  if (taken == nullptr) {
    for (int i = 0; i < count; ++i) row[i] = row[i] * (1.0f - coverage[i]) + light[i];
    return;
  }
  for (int i = 0; i < count; ++i) {
    const float share = high(low(coverage[i], 1.0f - taken[i]), 0.0f);
    const float free = high(1.0f - taken[i], 1e-6f);
    const float alpha = low(share / free, 1.0f);
    const float own = light[i] / high(coverage[i], 1e-9f);
    row[i] += alpha * (own - row[i]);
    taken[i] += share;
  }
}

SURGICLAW_CLONES void senseRow(const SensorRow& sensor, const float* reflectance, const std::int8_t* noise,
                               std::uint8_t* out, int count) {
  if (sensor.compression > 0)
    senseLoop<true>(sensor, reflectance, noise, out, count);
  else
    senseLoop<false>(sensor, reflectance, noise, out, count);
}

}  // namespace surgiclaw::optics
