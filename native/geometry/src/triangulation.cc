#include "surgiclaw/geometry/triangulation.h"

#include <Eigen/Geometry>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

namespace surgiclaw::geometry {
namespace {

// Unit normal, in the world, of the plane that an image line with this direction spans with the optical axis:
// A X · n = const for all points of the plane, n the line's normal in the image.
Eigen::Vector3d planeNormal(const AffineCamera& camera, const Eigen::Vector2d& direction) {
  const Eigen::Vector2d lineNormal(-direction.y(), direction.x());
  const Eigen::Vector3d normal = camera.A.transpose() * lineNormal;
  const double length = normal.norm();
  return length > 0 ? Eigen::Vector3d(normal / length) : Eigen::Vector3d::Zero();
}

}  // namespace

Eigen::Vector3d AffineCamera::opticalAxis() const {
  const Eigen::Vector3d axis = A.row(0).transpose().cross(A.row(1).transpose());
  const double length = axis.norm();
  const double scale = A.row(0).norm() * A.row(1).norm();
  if (!(length > 1e-9 * scale)) return Eigen::Vector3d::Zero();
  return axis / length;
}

AffineCamera cameraFromPose(const Eigen::Matrix3d& cameraFromWorld, const Eigen::Vector3d& origin,
                            double scale, const Eigen::Vector2d& principal) {
  AffineCamera camera;
  camera.A = cameraFromWorld.topRows<2>() / scale;
  camera.b = principal - camera.A * origin;
  return camera;
}

PointEstimate triangulate(const AffineCamera& camera1, const Eigen::Vector2d& pixel1,
                          const AffineCamera& camera2, const Eigen::Vector2d& pixel2) {
  PointEstimate result;
  Eigen::Matrix<double, 4, 3> M;
  M << camera1.A, camera2.A;
  Eigen::Vector4d rhs;
  rhs << pixel1 - camera1.b, pixel2 - camera2.b;
  if (!M.allFinite() || !rhs.allFinite()) {
    result.reason = "values not finite";
    return result;
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::Vector3d s = svd.singularValues();
  // For axes an angle φ apart the ratio is about tan(φ/2): refuse views less than about 6° apart.
  if (!(s(2) > 0.05 * s(0))) {
    result.reason = "optical axes nearly parallel";
    return result;
  }
  result.point = svd.solve(rhs);
  result.residualPx = (M * result.point - rhs).norm();
  const Eigen::Matrix3d V = svd.matrixV();
  result.covariancePerPx2 = V * s.array().square().inverse().matrix().asDiagonal() * V.transpose();
  result.ok = true;
  return result;
}

AxisEstimate axisFromViews(const AffineCamera& camera1, const Eigen::Vector2d& direction1,
                           const AffineCamera& camera2, const Eigen::Vector2d& direction2,
                           double minConditioning) {
  AxisEstimate result;
  if (!camera1.A.allFinite() || !camera2.A.allFinite() || !direction1.allFinite() ||
      !direction2.allFinite()) {
    result.reason = "values not finite";
    return result;
  }
  const Eigen::Vector3d normal1 = planeNormal(camera1, direction1);
  const Eigen::Vector3d normal2 = planeNormal(camera2, direction2);
  Eigen::Vector3d axis = normal1.cross(normal2);
  result.conditioning = axis.norm();
  if (!(result.conditioning >= minConditioning)) {
    result.illPosed = true;
    result.reason = "needle lies in the plane of the optical axes";
    return result;
  }
  axis /= result.conditioning;
  const double sign1 = (camera1.A * axis).dot(direction1);
  const double sign2 = (camera2.A * axis).dot(direction2);
  if (!(sign1 * sign2 > 0)) {
    result.reason = "image directions contradict each other";
    return result;
  }
  result.axis = sign1 > 0 ? axis : Eigen::Vector3d(-axis);
  result.ok = true;
  return result;
}

double axisAngle(const Eigen::Vector3d& a, const Eigen::Vector3d& b) {
  // atan2 keeps its precision at small angles, where acos of a number near 1 loses half the digits.
  return std::atan2(a.cross(b).norm(), std::abs(a.dot(b)));
}

double tiltFromSideViews(double alphaRad, double betaRad) {
  return std::atan(std::hypot(std::tan(alphaRad), std::tan(betaRad)));
}

Landing landingOnPlane(const Eigen::Vector3d& tip, const Eigen::Vector3d& axis,
                       const Eigen::Vector3d& planePoint, const Eigen::Vector3d& planeNormal) {
  Landing landing;
  const double along = planeNormal.dot(axis);
  // Below about 3° to the plane the landing point says nothing.
  if (!(std::abs(along) > 0.05 * planeNormal.norm() * axis.norm())) return landing;
  const double steps = planeNormal.dot(planePoint - tip) / along;
  landing.point = tip + axis * steps;
  landing.distance = steps * axis.norm();
  landing.ok = landing.point.allFinite();
  return landing;
}

AffineFit fitAffineCamera(const std::vector<Eigen::Vector3d>& points,
                          const std::vector<Eigen::Vector2d>& pixels, double minConditioning) {
  AffineFit fit;
  const auto count = static_cast<Eigen::Index>(points.size());
  if (points.size() != pixels.size()) {
    fit.reason = "different numbers of points and pixels";
    return fit;
  }
  if (count < 4) {
    fit.reason = "fewer than four points";
    return fit;
  }
  Eigen::Matrix3Xd X(3, count);
  Eigen::Matrix2Xd Y(2, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    X.col(i) = points[static_cast<size_t>(i)];
    Y.col(i) = pixels[static_cast<size_t>(i)];
  }
  if (!X.allFinite() || !Y.allFinite()) {
    fit.reason = "values not finite";
    return fit;
  }
  const Eigen::Vector3d meanX = X.rowwise().mean();
  const Eigen::Vector2d meanY = Y.rowwise().mean();
  X.colwise() -= meanX;
  Y.colwise() -= meanY;
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(X.transpose(), Eigen::ComputeThinU | Eigen::ComputeThinV);
  const auto& s = svd.singularValues();
  fit.conditioning = s(0) > 0 ? s(2) / s(0) : 0;
  if (!(fit.conditioning >= minConditioning)) {
    fit.reason = "points lie in one plane";
    return fit;
  }
  fit.camera.A = svd.solve(Y.transpose()).transpose();
  fit.camera.b = meanY - fit.camera.A * meanX;
  double sum = 0;
  fit.residualPx.reserve(points.size());
  for (Eigen::Index i = 0; i < count; ++i) {
    const double residual = (fit.camera.A * X.col(i) - Y.col(i)).norm();
    fit.residualPx.push_back(residual);
    sum += residual * residual;
  }
  fit.rmsPx = std::sqrt(sum / static_cast<double>(count));
  fit.ok = true;
  return fit;
}

}  // namespace surgiclaw::geometry
