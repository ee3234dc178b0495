// Two weak-perspective views: points, needle axis, landing; and fitting such a camera from correspondences.
// Metres in the world, pixels in the image. Equations: skill-agent.md 13.1.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace surgiclaw::geometry {

/// A weak-perspective (affine) camera: pixel = A X + b.
struct AffineCamera {
  Eigen::Matrix<double, 2, 3> A = Eigen::Matrix<double, 2, 3>::Zero();  ///< px per metre.
  Eigen::Vector2d b = Eigen::Vector2d::Zero();                          ///< px.

  Eigen::Vector2d project(const Eigen::Vector3d& point) const { return A * point + b; }
  /// Unit vector along the optical axis: the direction the view cannot see (A · axis = 0). Zero for a
  /// singular A.
  Eigen::Vector3d opticalAxis() const;
};

/// A camera from pose and scale: pixel = principal + (1/scale)(R rows 1..2)(X − origin).
/// `cameraFromWorld` is a rotation, `scale` in metres per pixel.
AffineCamera cameraFromPose(const Eigen::Matrix3d& cameraFromWorld, const Eigen::Vector3d& origin,
                            double scale, const Eigen::Vector2d& principal);

struct PointEstimate {
  bool ok = false;
  const char* reason = "";
  Eigen::Vector3d point = Eigen::Vector3d::Zero();  ///< World, m.
  /// Root mean square of the four pixel residuals times 2: with one redundant equation, |residual| along the
  /// only direction that the two views can contradict each other in. A wrong match or a moved camera shows
  /// here.
  double residualPx = 0;
  /// Covariance of the point for unit pixel noise (1 px per coordinate), m².
  Eigen::Matrix3d covariancePerPx2 = Eigen::Matrix3d::Zero();
};

/// Least squares over the four equations of two views. Not ok: values not finite, or optical axes nearly
/// parallel.
PointEstimate triangulate(const AffineCamera& camera1, const Eigen::Vector2d& pixel1,
                          const AffineCamera& camera2, const Eigen::Vector2d& pixel2);

struct AxisEstimate {
  bool ok = false;
  bool illPosed = false;  ///< The needle lies nearly in the plane that both optical axes span.
  const char* reason = "";
  Eigen::Vector3d axis = Eigen::Vector3d::Zero();  ///< Unit, world, from shank to tip.
  double conditioning = 0;                         ///< |m1 × m2| of the unit plane normals, 0…1.
};

/// Needle axis from its direction in both images (vectors from shank to tip, any length): cross product of
/// the normals of the two planes that each image line spans with its optical axis, signed so that it projects
/// onto both directions. Not ok: ill-posed (conditioning below `minConditioning`), or the directions
/// contradict each other in sign.
AxisEstimate axisFromViews(const AffineCamera& camera1, const Eigen::Vector2d& direction1,
                           const AffineCamera& camera2, const Eigen::Vector2d& direction2,
                           double minConditioning = 0.05);

/// Angle between two undirected axes, rad, 0…π/2.
double axisAngle(const Eigen::Vector3d& a, const Eigen::Vector3d& b);

/// Tilt of a needle from the two tilts seen in orthogonal side views: atan √(tan²α + tan²β), rad.
double tiltFromSideViews(double alphaRad, double betaRad);

/// Where the line (tip, axis) meets the plane (point, normal), or ok = false when nearly parallel.
struct Landing {
  bool ok = false;
  Eigen::Vector3d point = Eigen::Vector3d::Zero();
  double distance = 0;  ///< Signed way along the axis, m.
};
Landing landingOnPlane(const Eigen::Vector3d& tip, const Eigen::Vector3d& axis,
                       const Eigen::Vector3d& planePoint, const Eigen::Vector3d& planeNormal);

struct AffineFit {
  bool ok = false;
  const char* reason = "";
  AffineCamera camera;
  double rmsPx = 0;                ///< Root mean square of the 2-D residuals at the fitted points.
  std::vector<double> residualPx;  ///< Per point.
  double conditioning = 0;         ///< Smallest over largest singular value of the centred points.
};

/// Least-squares affine camera from n ≥ 4 points that are not coplanar. Not ok: too few points, lengths that
/// differ, values not finite, or points (nearly) in one plane (conditioning below `minConditioning`).
AffineFit fitAffineCamera(const std::vector<Eigen::Vector3d>& points,
                          const std::vector<Eigen::Vector2d>& pixels, double minConditioning = 0.02);

}  // namespace surgiclaw::geometry
