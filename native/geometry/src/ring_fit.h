// The model of a loop fitted to a frame: position, blur, and how dark wire and ribbon are.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "ring_shape.h"
#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry {

/// Blur beyond which nothing is left of an opening, px.
inline constexpr double kMaxRingBlur = 8;

// Least squares of the frame around (x, y) on constant, ring and ribbon.
struct DepthFit {
  bool ok = false;
  double sum = 0;    // Of squared residuals, and of the tie between the depths.
  double tie = 0;    // Weight of that tie.
  double total = 0;  // Of squared deviations from the mean.
  double surround = 0;
  double ringDepth = 0;  // Grey levels.
  double ribbonDepth = 0;
  int count = 0;

  double score() const { return total > 0 ? std::sqrt(std::max(0.0, 1 - sum / total)) : 0; }
};

// Pixels of the fit: fixed to whole pixels around a centre, so that residuals of neighbouring positions
// compare.
class FitWindow {
 public:
  FitWindow(const ImageView& image, const RingShape& shape, double x, double y, double margin)
      : shape_(shape) {
    const Box box = boxAround(shape, margin);
    const int cx = static_cast<int>(std::lround(x));
    const int cy = static_cast<int>(std::lround(y));
    for (int j = std::max(0, cy + box.top); j <= std::min(image.height - 1, cy + box.bottom); ++j) {
      for (int i = std::max(0, cx + box.left); i <= std::min(image.width - 1, cx + box.right); ++i) {
        if (shape.outline(i - x, j - y) > margin && shape.ribbon(i - x, j - y) > 2) continue;
        xs_.push_back(i);
        ys_.push_back(j);
        values_.push_back(static_cast<double>(image.row(j)[i]));
      }
    }
  }

  size_t size() const { return values_.size(); }

  /// Coverage of ring (or filled disc) and ribbon at every pixel; where both cover, the pixel is dark once.
  void cover(double x, double y, double sigma, bool filled, std::vector<double>& ring,
             std::vector<double>& ribbon) const {
    ring.resize(size());
    ribbon.resize(size());
    for (size_t k = 0; k < size(); ++k) {
      const double px = xs_[k] - x;
      const double py = ys_[k] - y;
      ribbon[k] = shape_.hasRibbon() ? shape_.ribbonCover(px, py, sigma) : 0.0;
      ring[k] = (filled ? shape_.disc(px, py, sigma) : shape_.ring(px, py, sigma)) * (1 - ribbon[k]);
    }
  }

  DepthFit fit(const std::vector<double>& ring, const std::vector<double>& ribbon, double material) const {
    DepthFit result;
    result.count = static_cast<int>(size());
    if (result.count < 40) return result;
    Eigen::Matrix3d N = Eigen::Matrix3d::Zero();
    Eigen::Vector3d g = Eigen::Vector3d::Zero();
    double square = 0;
    for (size_t k = 0; k < size(); ++k) {
      N(0, 0) += 1;
      N(1, 0) -= ring[k];
      N(2, 0) -= ribbon[k];
      N(1, 1) += ring[k] * ring[k];
      N(2, 1) += ring[k] * ribbon[k];
      N(2, 2) += ribbon[k] * ribbon[k];
      g(0) += values_[k];
      g(1) -= ring[k] * values_[k];
      g(2) -= ribbon[k] * values_[k];
      square += values_[k] * values_[k];
    }
    N = Eigen::Matrix3d(N.selfadjointView<Eigen::Lower>());
    N.diagonal() += Eigen::Vector3d::Constant(1e-6);
    // Wire and ribbon are of one material. Without this a blurred ring trades its depth for ever more blur.
    const double tie = shape_.hasRibbon() ? material * N(1, 1) : 0.0;
    N.bottomRightCorner<2, 2>() += tie * (Eigen::Matrix2d() << 1, -1, -1, 1).finished();
    const Eigen::Vector3d c = N.ldlt().solve(g);
    result.sum = std::max(1e-9, square - c.dot(g));
    result.total = square - g(0) * g(0) / result.count;
    result.surround = c(0);
    result.ringDepth = c(1);
    result.ribbonDepth = c(2);
    result.tie = tie;
    result.ok = c.allFinite();
    return result;
  }

  /// Without the tie: what wire and ribbon look like each for itself.
  DepthFit fitAt(double x, double y, double sigma, bool filled) const {
    std::vector<double> ring;
    std::vector<double> ribbon;
    cover(x, y, sigma, filled, ring, ribbon);
    return fit(ring, ribbon, 0);
  }

  /// What of the ring's coverage a filled disc (with the ribbon and a constant) cannot imitate: sum of
  /// squares.
  double hollowEnergy(double x, double y, double sigma) const {
    std::vector<double> ring, disc, ribbon;
    cover(x, y, sigma, false, ring, ribbon);
    cover(x, y, sigma, true, disc, ribbon);
    Eigen::MatrixXd basis(static_cast<Eigen::Index>(size()), 3);
    Eigen::VectorXd values(static_cast<Eigen::Index>(size()));
    for (size_t k = 0; k < size(); ++k) {
      basis.row(static_cast<Eigen::Index>(k)) << 1, disc[k], ribbon[k];
      values(static_cast<Eigen::Index>(k)) = ring[k];
    }
    Eigen::Matrix3d N = basis.transpose() * basis;
    N.diagonal() += Eigen::Vector3d::Constant(1e-6);
    const Eigen::Vector3d c = N.ldlt().solve(basis.transpose() * values);
    return (values - basis * c).squaredNorm();
  }

  double value(size_t k) const { return values_[k]; }

 private:
  const RingShape& shape_;
  std::vector<int> xs_;
  std::vector<int> ys_;
  std::vector<double> values_;
};

struct RingFit {
  bool ok = false;
  double x = 0;
  double y = 0;
  double sigma = 0;
  DepthFit fit;
  double positionVariance = 0;
};

/// Levenberg–Marquardt from a place within a few pixels. Not ok when it wanders off.
RingFit refineRing(const ImageView& image, const RingShape& shape, double x, double y, double sigma);

}  // namespace surgiclaw::geometry
