// Rigid point registration (Kabsch/Arun) with held-out targets. FRE is never called TRE.
// Equations: skill-agent.md 13.2.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace surgiclaw::geometry {

/// target = R source + t; det R = +1.
struct RigidTransform {
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Vector3d t = Eigen::Vector3d::Zero();

  Eigen::Vector3d apply(const Eigen::Vector3d& source) const { return R * source + t; }
};

struct RigidFit {
  bool ok = false;
  const char* reason = "";
  RigidTransform targetFromSource;
  double fre = 0;                 ///< RMS residual at the fitted points; says nothing about other points.
  std::vector<double> residuals;  ///< Per fitted point.
  double spread = 0;              ///< Second-largest RMS extent of the points over the largest: 0 is a line.
};

/// Least-squares rigid transform by SVD with determinant guard (Arun 1987, Kabsch 1976). Not ok: fewer than 3
/// points, lengths that differ, values not finite, all points alike, or (nearly) collinear points (spread <
/// `minSpread`).
RigidFit fitRigid(const std::vector<Eigen::Vector3d>& source, const std::vector<Eigen::Vector3d>& target,
                  double minSpread = 0.02);

/// Errors at points that were not fitted.
struct TargetErrors {
  bool ok = false;  ///< False without targets or with lengths that differ.
  double mean = 0;
  double rms = 0;
  double max = 0;
  std::vector<double> errors;
};
TargetErrors targetErrors(const RigidTransform& targetFromSource, const std::vector<Eigen::Vector3d>& source,
                          const std::vector<Eigen::Vector3d>& target);

/// Expected RMS FRE of N fiducials with localisation error `fle` (RMS over 3 axes): √((1 − 2/N)) · fle. 0 for
/// N ≤ 2.
double expectedFre(double fle, int fiducials);

/// Expected RMS TRE at `target` (Fitzpatrick & West, IEEE TMI 1998, 10.1109/42.952729):
/// √(fle²/N · (1 + ⅓ Σ d_k²/f_k²)), d_k distance of the target from principal axis k, f_k RMS distance of the
/// fiducials from it. Infinity for fewer than 3 or collinear fiducials.
double expectedTre(double fle, const std::vector<Eigen::Vector3d>& fiducials, const Eigen::Vector3d& target);

}  // namespace surgiclaw::geometry
