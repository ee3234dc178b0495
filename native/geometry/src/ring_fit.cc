#include "ring_fit.h"

#include <algorithm>
#include <cmath>

namespace surgiclaw::geometry {
namespace {

constexpr double kSameMaterial = 0.2;  // Pull of wire and ribbon to one darkness.

}  // namespace

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

// Levenberg–Marquardt on x, y, ln σ and the three linear terms; the coverage is differentiated by
// differences.
RingFit refineRing(const ImageView& image, const RingShape& shape, double x, double y, double sigma) {
  RingFit result;
  const double startX = x;
  const double startY = y;
  constexpr double kStep[3] = {0.1, 0.1, 0.04};
  std::vector<double> ring, ribbon, movedRing[3], movedRibbon[3];
  for (int round = 0; round < 2; ++round) {
    const FitWindow window(image, shape, x, y, 4 + 2 * sigma);
    if (window.size() < 60) return result;
    Eigen::Vector3d p(x, y, std::log(sigma));
    const auto coverAt = [&](const Eigen::Vector3d& q, std::vector<double>& a, std::vector<double>& b) {
      window.cover(q(0), q(1), std::exp(q(2)), false, a, b);
    };
    coverAt(p, ring, ribbon);
    DepthFit now = window.fit(ring, ribbon, kSameMaterial);
    if (!now.ok) return result;
    Matrix6 N = Matrix6::Identity();
    double damping = 1e-3;
    for (int iteration = 0; iteration < 10; ++iteration) {
      for (int k = 0; k < 3; ++k) {
        Eigen::Vector3d q = p;
        q(k) += kStep[k];
        coverAt(q, movedRing[k], movedRibbon[k]);
      }
      N.setZero();
      Vector6 g = Vector6::Zero();
      for (size_t i = 0; i < window.size(); ++i) {
        Vector6 J;
        for (int k = 0; k < 3; ++k) {
          J(k) = -(now.ringDepth * (movedRing[k][i] - ring[i]) +
                   now.ribbonDepth * (movedRibbon[k][i] - ribbon[i])) /
                 kStep[k];
        }
        J(3) = 1;
        J(4) = -ring[i];
        J(5) = -ribbon[i];
        const double model = now.surround - now.ringDepth * ring[i] - now.ribbonDepth * ribbon[i];
        const double residual = model - window.value(i);
        N.selfadjointView<Eigen::Lower>().rankUpdate(J);
        g += J * residual;
      }
      N = Matrix6(N.selfadjointView<Eigen::Lower>());
      N.diagonal() += Vector6::Constant(1e-6);
      N.bottomRightCorner<2, 2>() += now.tie * (Eigen::Matrix2d() << 1, -1, -1, 1).finished();
      g(4) += now.tie * (now.ringDepth - now.ribbonDepth);
      g(5) -= now.tie * (now.ringDepth - now.ribbonDepth);
      bool better = false;
      double gain = 0;
      for (int attempt = 0; attempt < 5 && !better; ++attempt) {
        Matrix6 damped = N;
        damped.diagonal() *= 1 + damping;
        const Vector6 step = damped.ldlt().solve(-g);
        if (!step.allFinite()) break;
        Eigen::Vector3d next = p;
        for (int k = 0; k < 3; ++k) next(k) += std::clamp(step(k), k < 2 ? -1.5 : -0.5, k < 2 ? 1.5 : 0.5);
        next(2) = std::clamp(next(2), std::log(0.6), std::log(kMaxRingBlur));
        coverAt(next, movedRing[0], movedRibbon[0]);
        const DepthFit fit = window.fit(movedRing[0], movedRibbon[0], kSameMaterial);
        if (fit.ok && fit.sum < now.sum) {
          gain = now.sum - fit.sum;
          better = true;
          p = next;
          now = fit;
          ring.swap(movedRing[0]);
          ribbon.swap(movedRibbon[0]);
          damping = std::max(1e-4, damping * 0.2);
        } else {
          damping *= 10;
        }
      }
      if (!better || gain < 1e-4 * now.sum) break;
    }
    x = p(0);
    y = p(1);
    sigma = std::exp(p(2));
    if (std::hypot(x - startX, y - startY) > 10) return result;
    result.fit = now;
    // Texture is correlated over an area of about the blur, both ways.
    const double correlation = (2 + 2 * sigma) * (2 + 2 * sigma);
    const double variance = (now.sum / std::max(1, now.count - 6) + 0.1) * correlation;
    const Matrix6 covariance = variance * N.inverse();
    result.positionVariance = 0.5 * (covariance(0, 0) + covariance(1, 1));
  }
  result.x = x;
  result.y = y;
  result.sigma = sigma;
  result.ok = result.fit.ok && std::isfinite(result.positionVariance) && result.positionVariance > 0;
  return result;
}

}  // namespace surgiclaw::geometry
