// How an electrode's loop and the end of its ribbon appear in a view.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "normal_table.h"
#include "surgiclaw/geometry/ring.h"

namespace surgiclaw::geometry {

// The ring's outline as an ellipse (the affine image of the loop), and the ribbon's first stretch.
class RingShape {
 public:
  explicit RingShape(const RingModel& model) {
    const Eigen::Vector2d a(model.halfAxisA[0], model.halfAxisA[1]);
    const Eigen::Vector2d b(model.halfAxisB[0], model.halfAxisB[1]);
    halfWire_ = 0.5 * model.wirePx;
    // The centre line of the wire lies half a wire outside the opening.
    Eigen::Matrix2d axes;
    axes << a * (1 + halfWire_ / a.norm()), b * (1 + halfWire_ / b.norm());
    inverse_ = axes.inverse();
    extentX_ = std::hypot(axes(0, 0), axes(0, 1)) + halfWire_;
    extentY_ = std::hypot(axes(1, 0), axes(1, 1)) + halfWire_;
    const Eigen::Vector2d ribbon(model.ribbonDirection[0], model.ribbonDirection[1]);
    hasRibbon_ = ribbon.norm() > 1e-6 && model.ribbonWidthPx > 0;
    if (hasRibbon_) {
      direction_ = ribbon.normalized();
      halfRibbon_ = 0.5 * model.ribbonWidthPx;
      // The ribbon's round end touches the wire's outer edge.
      ribbonStart_ = 1 / (inverse_ * direction_).norm() + halfWire_ + halfRibbon_;
    }
  }

  double extentX() const { return extentX_; }
  double extentY() const { return extentY_; }
  bool hasRibbon() const { return hasRibbon_; }
  Eigen::Vector2d ribbonMiddle() const { return direction_ * ribbonStart_; }
  double halfRibbon() const { return halfRibbon_; }

  /// Signed distance from the wire's centre line, negative inside: first order, exact near the line.
  double outline(double x, double y) const {
    const Eigen::Vector2d q = inverse_ * Eigen::Vector2d(x, y);
    const double rho = q.norm();
    if (rho < 1e-6) return -1e3;
    const double slope = (inverse_.transpose() * (q / rho)).norm();
    return (rho - 1) / slope;
  }
  /// Distance beyond the ribbon's edge, negative on it.
  double ribbon(double x, double y) const {
    if (!hasRibbon_) return 1e3;
    const double along = std::max(0.0, x * direction_.x() + y * direction_.y() - ribbonStart_);
    const double px = x - direction_.x() * (ribbonStart_ + along);
    const double py = y - direction_.y() * (ribbonStart_ + along);
    return std::hypot(px, py) - halfRibbon_;
  }
  double ring(double x, double y, double sigma) const {
    const NormalTable& table = normalTable();
    const double d = outline(x, y);
    return table.cdf((halfWire_ - d) / sigma) - table.cdf((-halfWire_ - d) / sigma);
  }
  double disc(double x, double y, double sigma) const {
    return normalTable().cdf((halfWire_ - outline(x, y)) / sigma);
  }
  double ribbonCover(double x, double y, double sigma) const {
    return normalTable().cdf(-ribbon(x, y) / sigma);
  }

 private:
  double halfWire_ = 0;
  double extentX_ = 0;
  double extentY_ = 0;
  Eigen::Matrix2d inverse_;
  bool hasRibbon_ = false;
  Eigen::Vector2d direction_ = Eigen::Vector2d::Zero();
  double halfRibbon_ = 0;
  double ribbonStart_ = 0;
};

// The part of the frame around a ring, in pixels relative to its centre.
struct Box {
  int left, top, right, bottom;
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

inline Box boxAround(const RingShape& shape, double margin) {
  Box box{static_cast<int>(std::floor(-shape.extentX() - margin)),
          static_cast<int>(std::floor(-shape.extentY() - margin)),
          static_cast<int>(std::ceil(shape.extentX() + margin)),
          static_cast<int>(std::ceil(shape.extentY() + margin))};
  if (shape.hasRibbon()) {
    // As much of the ribbon as makes its end seen, not more: it bends.
    const Eigen::Vector2d middle = shape.ribbonMiddle();
    box.left = std::min(box.left, static_cast<int>(std::floor(middle.x() - 0.5 * shape.halfRibbon())));
    box.right = std::max(box.right, static_cast<int>(std::ceil(middle.x() + 0.5 * shape.halfRibbon())));
    box.top = std::min(box.top, static_cast<int>(std::floor(middle.y() - 0.5 * shape.halfRibbon())));
    box.bottom = std::max(box.bottom, static_cast<int>(std::ceil(middle.y() + 0.5 * shape.halfRibbon())));
  }
  return box;
}

}  // namespace surgiclaw::geometry
