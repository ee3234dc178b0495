#include "surgiclaw/servo/control_law.h"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

namespace surgiclaw::servo {

LawStep controlStep(const ImageJacobian& jacobian, const ImageError& error, const ImageError& previousError,
                    const LawOptions& options) {
  LawStep step;
  const auto axes = jacobian.cols();
  if (axes < 1 || axes > kMaxAxes) {
    step.reason = "the Jacobian has no axes or more than four";
    return step;
  }
  if (!jacobian.allFinite() || !error.allFinite() || !previousError.allFinite() ||
      !std::isfinite(options.gain) || !std::isfinite(options.proportional) ||
      !std::isfinite(options.maxStepPulses)) {
    step.reason = "a measurement or a gain is not finite";
    return step;
  }
  if (options.maxStepPulses < 1) {
    step.reason = "the largest step is below one pulse";
    return step;
  }
  Eigen::JacobiSVD<Eigen::MatrixXd> svd(jacobian, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd& singular = svd.singularValues();
  if (singular(0) <= 0 || singular(singular.size() - 1) < options.minConditioning * singular(0)) {
    step.reason = "the Jacobian does not determine the axes";
    return step;
  }
  const ImageError wanted = options.proportional * (error - previousError) + options.gain * error;
  AxisVector pulses = -svd.solve(wanted);
  const double largest = pulses.cwiseAbs().maxCoeff();
  if (!std::isfinite(largest)) {
    step.reason = "the step is not finite";
    return step;
  }
  if (largest > options.maxStepPulses) {
    step.scale = options.maxStepPulses / largest;
    pulses *= step.scale;
  }
  for (Eigen::Index axis = 0; axis < axes; ++axis) {
    step.deltaPulses.push_back(static_cast<int32_t>(std::lround(pulses(axis))));
  }
  step.ok = true;
  return step;
}

ImageJacobian broydenUpdate(const ImageJacobian& jacobian, const AxisVector& movedPulses,
                            const ImageError& errorChange, double minMotionPx) {
  const double length = movedPulses.squaredNorm();
  const ImageError predicted = jacobian * movedPulses;
  const ImageError surprise = errorChange - predicted;
  if (!errorChange.allFinite() || length < 1 || predicted.norm() < minMotionPx ||
      surprise.norm() > 0.5 * predicted.norm()) {
    return jacobian;
  }
  return jacobian + surprise * movedPulses.transpose() / length;
}

double worstViewPx(const ImageError& error) {
  return std::max(error.head<2>().norm(), error.tail<2>().norm());
}

ProgressMonitor::ProgressMonitor(double shrinkFactor, int shrinkSteps, double tolerancePx)
    : shrinkFactor_(shrinkFactor),
      shrinkSteps_(static_cast<size_t>(std::max(1, shrinkSteps))),
      tolerancePx_(tolerancePx) {}

ProgressMonitor::Verdict ProgressMonitor::add(double errorPx, double scale, double gain) {
  history_.push_back({errorPx, 1 - gain * scale, scale < 1});
  if (history_.size() > shrinkSteps_ + 1) history_.pop_front();
  const size_t count = history_.size();
  // Growing twice in a row, and well above what noise near the goal can do: the Jacobian points the wrong
  // way.
  if (count >= 3 && errorPx > 2 * tolerancePx_ && history_[count - 2].errorPx > history_[count - 3].errorPx &&
      errorPx > history_[count - 2].errorPx && errorPx > 1.1 * history_[count - 3].errorPx) {
    return Verdict::kDiverging;
  }
  if (count == shrinkSteps_ + 1) {
    double allowed = shrinkFactor_;
    double promised = 1;
    bool shortened = false;
    for (size_t i = 0; i + 1 < count; ++i) {
      promised *= history_[i].promised;
      shortened = shortened || history_[i].shortened;
    }
    if (shortened) allowed = std::max(allowed, (1 + promised) / 2);
    if (errorPx > allowed * history_.front().errorPx) return Verdict::kStalled;
  }
  return Verdict::kGoOn;
}

}  // namespace surgiclaw::servo
