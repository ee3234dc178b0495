// From a measured image error to whole pulses. Pure functions of their arguments: no clock, no device, no
// state hidden between calls.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace surgiclaw::servo {

/// Two views give four image equations, so no more than four axes can be told apart.
constexpr int kMaxAxes = 4;

/// Image error of both views: tip − goal, (u, v) of view 1 then of view 2, px.
using ImageError = Eigen::Matrix<double, 4, 1>;
/// Image motion per pulse: one column an axis, rows as in ImageError, px/pulse.
using ImageJacobian = Eigen::Matrix<double, 4, Eigen::Dynamic, 0, 4, kMaxAxes>;
/// One value an axis.
using AxisVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxAxes, 1>;

struct LawOptions {
  /// Ki of the law: the share of the error that one step removes. Below 1 so that a few percent of error in
  /// the Jacobian never overshoots.
  double gain = 0.9;
  /// Kp of the law, on the change of the error since the last look; 0 makes each step a plain Newton step.
  double proportional = 0.0;
  /// Largest step of any axis, pulses. A longer step is shortened as a whole, so that it keeps its direction.
  double maxStepPulses = 0;
  /// The smallest singular value of the Jacobian must be above this share of the largest.
  double minConditioning = 1e-3;
};

struct LawStep {
  bool ok = false;
  const char* reason = "";           ///< why not, a static string
  std::vector<int32_t> deltaPulses;  ///< one an axis, rounded to whole pulses
  double scale = 1;                  ///< below 1 when the step was shortened
};

/// du = −J⁺ (Kp (e − e_previous) + Ki e) in the sense of least squares (skill-agent.md 13.1), shortened to
/// the largest step, then rounded. Not ok: a value that is not finite, or a Jacobian that does not determine
/// the axes.
LawStep controlStep(const ImageJacobian& jacobian, const ImageError& error, const ImageError& previousError,
                    const LawOptions& options);

/// Broyden's rank-one correction: the smallest change of the Jacobian that explains what was just seen,
/// J + (de − J du) duᵀ / (duᵀ du). Returns `jacobian` unchanged when the predicted motion is below
/// `minMotionPx` (noise would be taken for geometry) or contradicts the seen one by more than half (a slip,
/// not a Jacobian).
ImageJacobian broydenUpdate(const ImageJacobian& jacobian, const AxisVector& movedPulses,
                            const ImageError& errorChange, double minMotionPx);

/// Larger of the two views' distances from their goals, px.
double worstViewPx(const ImageError& error);

/// Decides whether the loop still makes progress.
class ProgressMonitor {
 public:
  /// `shrinkFactor` in (0, 1): within `shrinkSteps` steps the error must fall below this share of what it
  /// was.
  ProgressMonitor(double shrinkFactor, int shrinkSteps, double tolerancePx);

  enum class Verdict { kGoOn, kStalled, kDiverging };

  /// Called once for each look that leads to a step: the error before the step, and the law's scale of that
  /// step. A shortened step cannot remove the whole error, so half of what it promised is asked for instead.
  Verdict add(double errorPx, double scale, double gain);

 private:
  struct Entry {
    double errorPx;
    double promised;  ///< share of the error that should be left after the step
    bool shortened;
  };
  const double shrinkFactor_;
  const size_t shrinkSteps_;
  const double tolerancePx_;
  std::deque<Entry> history_;
};

}  // namespace surgiclaw::servo
