#include "surgiclaw/geometry/ring.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "correlation.h"
#include "normal_table.h"
#include "sampling.h"

namespace surgiclaw::geometry {
namespace {

constexpr double kMinScore = 0.55;     // Correlation of the fitted model with the frame.
constexpr double kMinContrast = 6;     // Grey levels between the wire and its surroundings.
constexpr double kMinDarkness = 0.15;  // The same as a share of the surroundings.
constexpr double kMinOpen = 0.08;      // Share of the expected difference to a filled disc that must be seen.
constexpr double kSameMaterial = 0.2;  // Pull of wire and ribbon to one darkness.
constexpr double kSameScore = 0.07;    // Scores this near each other count as equal.
constexpr double kMaxSigma = 8;        // Beyond it nothing is left of an opening.
constexpr double kMaxSize = 200;       // Largest half extent of a ring, px.

RingEstimate notFound(const char* reason) {
  RingEstimate result;
  result.reason = reason;
  return result;
}

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

Box boxAround(const RingShape& shape, double margin) {
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

// What the model looks like, dark as negative, for correlation.
FloatImage drawPattern(const RingShape& shape, const Box& box, double sigma) {
  FloatImage pattern;
  pattern.resize(box.width(), box.height());
  for (int y = 0; y < pattern.height; ++y) {
    for (int x = 0; x < pattern.width; ++x) {
      const double px = box.left + x;
      const double py = box.top + y;
      pattern.row(y)[x] =
          static_cast<float>(-std::max(shape.ring(px, py, sigma), shape.ribbonCover(px, py, sigma)));
    }
  }
  return pattern;
}

// Least squares of the frame around (x, y) on constant, ring and ribbon.
struct ModelFit {
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

  ModelFit fit(const std::vector<double>& ring, const std::vector<double>& ribbon, double material) const {
    ModelFit result;
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
  ModelFit fitAt(double x, double y, double sigma, bool filled) const {
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

struct Refined {
  bool ok = false;
  double x = 0;
  double y = 0;
  double sigma = 0;
  ModelFit fit;
  double positionVariance = 0;
};

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

// Levenberg–Marquardt on x, y, ln σ and the three linear terms; the coverage is differentiated by
// differences.
Refined refine(const ImageView& image, const RingShape& shape, double x, double y, double sigma) {
  Refined result;
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
    ModelFit now = window.fit(ring, ribbon, kSameMaterial);
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
        next(2) = std::clamp(next(2), std::log(0.6), std::log(kMaxSigma));
        coverAt(next, movedRing[0], movedRibbon[0]);
        const ModelFit fit = window.fit(movedRing[0], movedRibbon[0], kSameMaterial);
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

bool validModel(const RingModel& model) {
  const double ax = model.halfAxisA[0];
  const double ay = model.halfAxisA[1];
  const double bx = model.halfAxisB[0];
  const double by = model.halfAxisB[1];
  const double a = std::hypot(ax, ay);
  const double b = std::hypot(bx, by);
  const bool finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(model.wirePx) &&
                      std::isfinite(model.ribbonWidthPx) &&
                      std::isfinite(model.ribbonDirection[0] + model.ribbonDirection[1]);
  // An opening seen edge-on is no ring.
  return finite && a >= 2 && b >= 2 && a < kMaxSize && b < kMaxSize &&
         std::abs(ax * by - ay * bx) > 0.2 * a * b && model.wirePx >= 1 && model.wirePx < 40 &&
         model.ribbonWidthPx >= 0 && model.ribbonWidthPx < 200;
}

}  // namespace

RingEstimate findRing(const ImageView& image, double x, double y, double radius, const RingModel& model) {
  if (image.empty() || image.width < 64 || image.height < 64)
    return notFound("image empty or smaller than 64 px");
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(radius) || radius < 0)
    return notFound("values not finite");
  if (!validModel(model)) return notFound("the model has no opening");
  const RingShape shape(model);

  // Coarse: correlation on a reduced image, for a sharp and a blurred ring.
  const int factor = radius > 200 ? 4 : 2;
  const Box box = boxAround(shape, 6);
  const double range = std::max(6.0, std::ceil(radius));
  const int x0 = static_cast<int>(std::clamp(std::floor(x - range + box.left), 0.0, image.width - 1.0));
  const int y0 = static_cast<int>(std::clamp(std::floor(y - range + box.top), 0.0, image.height - 1.0));
  const int x1 = static_cast<int>(std::clamp(std::ceil(x + range + box.right), 0.0, image.width - 1.0));
  const int y1 = static_cast<int>(std::clamp(std::ceil(y + range + box.bottom), 0.0, image.height - 1.0));
  if (x1 - x0 + 1 < box.width() + factor || y1 - y0 + 1 < box.height() + factor) {
    return notFound("search region outside the image");
  }
  FloatImage window;
  window.resize(x1 - x0 + 1, y1 - y0 + 1);
  for (int j = 0; j < window.height; ++j) {
    for (int i = 0; i < window.width; ++i) window.row(j)[i] = static_cast<float>(image.row(y0 + j)[x0 + i]);
  }
  FloatImage reduced;
  reduceFloat(window, factor, reduced);

  struct Candidate {
    double x, y, score, sigma;
  };
  std::vector<Candidate> candidates;
  const int apart = std::max(2, static_cast<int>(0.5 * std::min(shape.extentX(), shape.extentY()) / factor));
  for (const double sigma : {1.2, 2.8, 5.5}) {
    const FloatImage pattern = drawPattern(shape, box, sigma);
    FloatImage small;
    FloatImage scores;
    reduceFloat(pattern, factor, small);
    correlate(reduced, small, scores);
    for (const CorrelationPeak& peak : highestPeaks(scores, apart, 24)) {
      // The same at full scale, a block to either side.
      const int fromX = std::clamp(peak.x * factor - factor, 0, window.width - pattern.width);
      const int fromY = std::clamp(peak.y * factor - factor, 0, window.height - pattern.height);
      FloatImage near;
      near.resize(std::min(window.width - fromX, pattern.width + 2 * factor),
                  std::min(window.height - fromY, pattern.height + 2 * factor));
      for (int j = 0; j < near.height; ++j) {
        const float* from = window.row(fromY + j) + fromX;
        std::copy(from, from + near.width, near.row(j));
      }
      FloatImage fine;
      correlate(near, pattern, fine);
      const auto best = std::max_element(fine.pixels.begin(), fine.pixels.end()) - fine.pixels.begin();
      const double cx = x0 + fromX + static_cast<int>(best % fine.width) - box.left;
      const double cy = y0 + fromY + static_cast<int>(best / fine.width) - box.top;
      if (std::max(std::abs(cx - x), std::abs(cy - y)) > range + factor) continue;
      candidates.push_back({cx, cy, static_cast<double>(fine.pixels[static_cast<size_t>(best)]), sigma});
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.score > b.score; });

  // Fine: position, blur and depths of the most promising, then the checks.
  std::vector<Refined> rings;
  std::vector<Candidate> tried;
  bool sawDisc = false;
  const double same = std::max(shape.extentX(), shape.extentY());
  for (const Candidate& candidate : candidates) {
    if (candidate.score < 0.4 || candidate.score < 0.7 * candidates.front().score || tried.size() >= 8) break;
    const bool known = std::any_of(tried.begin(), tried.end(), [&](const Candidate& other) {
      return std::hypot(other.x - candidate.x, other.y - candidate.y) < 3;
    });
    if (known) continue;
    tried.push_back(candidate);
    const Refined ring = refine(image, shape, candidate.x, candidate.y, candidate.sigma);
    // At the bound of the blur any dark patch will do for a ring.
    if (!ring.ok || ring.fit.score() < kMinScore || ring.sigma > 0.97 * kMaxSigma) continue;
    // Each for itself, wire and ribbon must be dark, and about equally so.
    const FitWindow own(image, shape, ring.x, ring.y, 4 + 2 * ring.sigma);
    const ModelFit hollow = own.fitAt(ring.x, ring.y, ring.sigma, false);
    const double dark = std::max(kMinContrast, kMinDarkness * hollow.surround);
    if (hollow.ringDepth < dark || hollow.ringDepth > 1.3 * hollow.surround) continue;
    if (shape.hasRibbon() &&
        (hollow.ribbonDepth < 0.5 * hollow.ringDepth || hollow.ribbonDepth > 2 * hollow.ringDepth)) {
      continue;
    }
    if (std::max(std::abs(ring.x - x), std::abs(ring.y - y)) > range) continue;
    const bool twice = std::any_of(rings.begin(), rings.end(), [&](const Refined& other) {
      return std::hypot(other.x - ring.x, other.y - ring.y) < 0.4 * same;
    });
    if (twice) continue;
    const ModelFit filled = own.fitAt(ring.x, ring.y, ring.sigma, true);
    const double open = hollow.ringDepth * hollow.ringDepth * own.hollowEnergy(ring.x, ring.y, ring.sigma);
    if (filled.sum - hollow.sum < kMinOpen * open) {
      sawDisc = true;
      continue;
    }
    rings.push_back(ring);
  }
  if (rings.empty()) return notFound(sawDisc ? "no opening seen" : "nothing like a ring");

  // The best; among equals the one nearest to where it was expected.
  double top = 0;
  for (const Refined& ring : rings) top = std::max(top, ring.fit.score());
  const Refined* best = nullptr;
  const auto distance = [&](const Refined& ring) { return std::hypot(ring.x - x, ring.y - y); };
  for (const Refined& ring : rings) {
    if (ring.fit.score() < top - kSameScore) continue;
    if (best == nullptr || distance(ring) < distance(*best)) best = &ring;
  }
  double doubt = 0;
  for (const Refined& ring : rings) {
    if (&ring == best || ring.fit.score() < top - kSameScore ||
        std::hypot(ring.x - best->x, ring.y - best->y) < same) {
      continue;
    }
    doubt = std::max(doubt, distance(*best) / std::max(1.0, distance(ring)));
  }
  if (doubt > 0.9) return notFound("ambiguous: two rings as near");

  RingEstimate result;
  result.found = true;
  result.x = best->x;
  result.y = best->y;
  // The floor: the loop is a bent wire, not an ellipse.
  result.sigmaPx = std::sqrt(best->positionVariance + 0.08 * 0.08 * (1 + best->sigma * best->sigma));
  result.edgeSigmaPx = best->sigma;
  result.confidence = std::clamp((best->fit.score() - 0.4) / 0.5, 0.0, 1.0) * (1 - 0.5 * doubt);
  return result;
}

}  // namespace surgiclaw::geometry
