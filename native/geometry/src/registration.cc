#include "surgiclaw/geometry/registration.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace surgiclaw::geometry {
namespace {

bool allFinite(const std::vector<Eigen::Vector3d>& points) {
  return std::all_of(points.begin(), points.end(), [](const Eigen::Vector3d& p) { return p.allFinite(); });
}

Eigen::Vector3d centroid(const std::vector<Eigen::Vector3d>& points) {
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  for (const auto& p : points) sum += p;
  return sum / static_cast<double>(points.size());
}

// Principal axes (columns, ascending) and mean squares along them.
struct Principal {
  Eigen::Vector3d centre;
  Eigen::Matrix3d axes;
  Eigen::Vector3d meanSquare;

  // Second-largest RMS extent over the largest.
  double spread() const {
    return meanSquare(2) > 0 ? std::sqrt(std::max(0.0, meanSquare(1)) / meanSquare(2)) : 0.0;
  }
};

Principal principalAxes(const std::vector<Eigen::Vector3d>& points) {
  Principal result;
  result.centre = centroid(points);
  Eigen::Matrix3d scatter = Eigen::Matrix3d::Zero();
  for (const auto& p : points) scatter += (p - result.centre) * (p - result.centre).transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(scatter / static_cast<double>(points.size()));
  result.axes = solver.eigenvectors();
  result.meanSquare = solver.eigenvalues().cwiseMax(0.0);
  return result;
}

}  // namespace

RigidFit fitRigid(const std::vector<Eigen::Vector3d>& source, const std::vector<Eigen::Vector3d>& target,
                  double minSpread) {
  RigidFit fit;
  if (source.size() != target.size()) {
    fit.reason = "different numbers of source and target points";
    return fit;
  }
  if (source.size() < 3) {
    fit.reason = "fewer than three points";
    return fit;
  }
  if (!allFinite(source) || !allFinite(target)) {
    fit.reason = "values not finite";
    return fit;
  }
  // Either cloud may be the degenerate one: a rotation about a line of points is free on both sides.
  fit.spread = std::min(principalAxes(source).spread(), principalAxes(target).spread());
  if (!(fit.spread >= minSpread)) {
    fit.reason = "points nearly collinear";
    return fit;
  }
  const Eigen::Vector3d sourceMean = centroid(source);
  const Eigen::Vector3d targetMean = centroid(target);
  Eigen::Matrix3d H = Eigen::Matrix3d::Zero();
  for (size_t i = 0; i < source.size(); ++i) {
    H += (source[i] - sourceMean) * (target[i] - targetMean).transpose();
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(H, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::Matrix3d U = svd.matrixU();
  const Eigen::Matrix3d V = svd.matrixV();
  // The guard turns a best-fitting reflection (coplanar or noisy points) into the best rotation.
  const double handedness = (V * U.transpose()).determinant() < 0 ? -1.0 : 1.0;
  fit.targetFromSource.R = V * Eigen::Vector3d(1, 1, handedness).asDiagonal() * U.transpose();
  fit.targetFromSource.t = targetMean - fit.targetFromSource.R * sourceMean;

  double sum = 0;
  fit.residuals.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const double residual = (fit.targetFromSource.apply(source[i]) - target[i]).norm();
    fit.residuals.push_back(residual);
    sum += residual * residual;
  }
  fit.fre = std::sqrt(sum / static_cast<double>(source.size()));
  fit.ok = true;
  return fit;
}

TargetErrors targetErrors(const RigidTransform& targetFromSource, const std::vector<Eigen::Vector3d>& source,
                          const std::vector<Eigen::Vector3d>& target) {
  TargetErrors result;
  if (source.empty() || source.size() != target.size()) return result;
  double sumSquares = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const double error = (targetFromSource.apply(source[i]) - target[i]).norm();
    result.errors.push_back(error);
    result.mean += error;
    sumSquares += error * error;
    result.max = std::max(result.max, error);
  }
  const auto count = static_cast<double>(source.size());
  result.mean /= count;
  result.rms = std::sqrt(sumSquares / count);
  result.ok = std::isfinite(result.rms);
  return result;
}

double expectedFre(double fle, int fiducials) {
  return fiducials > 2 ? fle * std::sqrt(1.0 - 2.0 / fiducials) : 0.0;
}

double expectedTre(double fle, const std::vector<Eigen::Vector3d>& fiducials, const Eigen::Vector3d& target) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (fiducials.size() < 3) return kInfinity;
  const Principal principal = principalAxes(fiducials);
  if (!(principal.spread() > 1e-6)) return kInfinity;
  const Eigen::Vector3d offset = principal.axes.transpose() * (target - principal.centre);
  double sum = 0;
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3;
    const int j = (k + 2) % 3;
    const double targetSquare = offset(i) * offset(i) + offset(j) * offset(j);
    const double fiducialSquare = principal.meanSquare(i) + principal.meanSquare(j);
    sum += targetSquare / fiducialSquare;
  }
  return fle * std::sqrt((1.0 + sum / 3.0) / static_cast<double>(fiducials.size()));
}

}  // namespace surgiclaw::geometry
