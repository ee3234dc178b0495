// Perpendicular profiles of a dark bar and the model fitted to them: two blurred edges.
#pragma once

#include <vector>

#include "sampling.h"

namespace surgiclaw::geometry {

/// A bar seen in one profile: I(t) = core + (left − core) Φ((edgeL − t)/σ) + (right − core) Φ((t − edgeR)/σ).
struct BarProfile {
  bool ok = false;
  double s = 0;  ///< Middle of the averaged stretch, px above the frame's origin.
  double edgeL = 0;
  double edgeR = 0;
  double sigma = 1;
  double core = 0;
  double left = 0;
  double right = 0;
  double middleVariance = 0;  ///< Of (edgeL + edgeR)/2.
  double edgeVariance[2] = {0, 0};
  double sigmaVariance = 0;
  double residual = 0;  ///< RMS, grey levels.

  double middle() const { return 0.5 * (edgeL + edgeR); }
  double width() const { return edgeR - edgeL; }
  /// The model's grey level at t.
  double at(double t) const;
  double depth() const { return 0.5 * (left + right) - core; }
};

/// Mean of `rows` cross-sections around s, read from t = −half to half in steps of `step`.
void readProfile(const ImageView& image, const AxisFrame& frame, double s, double rowStep, int rows,
                 double half, double step, std::vector<float>& profile);

/// Fits the model by Levenberg–Marquardt to samples from t = `from` in steps of `step`, starting from `fit`;
/// fills everything but `s`. `correlation` is how many neighbouring samples share their noise (texture), for
/// the variances.
void fitProfile(const std::vector<float>& profile, double from, double step, double correlation,
                BarProfile& fit);

/// Fits again, from `start`, to the bar and its close surroundings alone where `fit` explains them badly: a
/// blurred vessel beside a sharp shank passes for a blurred edge. Keeps `fit` unless the bar proves sharp and
/// its edges better explained.
void fitSharply(const std::vector<float>& profile, double from, double step, double correlation,
                const BarProfile& start, BarProfile& fit);

/// A start value from nothing: the best of several widths of blur, the bar's middle within ±8 px.
BarProfile startProfile(const std::vector<float>& profile, double half, double step, double width);

}  // namespace surgiclaw::geometry
