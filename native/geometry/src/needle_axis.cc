#include "needle_axis.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bar_profile.h"

namespace surgiclaw::geometry {
namespace {

constexpr double kSegment = 16;                // Length of the stretch that one profile averages, px.
constexpr double kReach = 720;                 // How far above the tip the axis is measured.
constexpr double kNear = 300;                  // Where width and blur are measured.
constexpr int kRows = 8;                       // Rows read of a stretch.
constexpr double kRowStep = kSegment / kRows;  // Rows of a stretch, px apart.
constexpr double kBarbZone = 50;               // Above the tip: barb, ring, rounded end.
constexpr double kTaperTop = 165;              // Above the tip the width grows up to here.
constexpr double kReadBlur = 1.0 / 6;  // Variance that bilinear reading adds, px² (mean of f(1 − f)).
constexpr double kFlank = 36;          // Background beside the bar, px.

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Sample {
  double s;
  double value;
  double variance;
  double usual = 1;  // What blur and noise move it by, px.
};

// Weighted polynomial of degree < kTerms in s with Tukey's weights; returns coefficients, fills their
// covariance. `usual` are standard deviations about 0 that the terms, in powers of s/kNear, usually have (0:
// any).
template <int kTerms>
bool robustPolynomial(const std::vector<Sample>& samples, double floorVariance,
                      const Eigen::Matrix<double, kTerms, 1>& usual, Eigen::Matrix<double, kTerms, 1>& c,
                      Eigen::Matrix<double, kTerms, kTerms>& covariance, double& scatter, double& support) {
  using Vector = Eigen::Matrix<double, kTerms, 1>;
  using Matrix = Eigen::Matrix<double, kTerms, kTerms>;
  if (static_cast<int>(samples.size()) < kTerms + 2) return false;
  const double scale = 1.0 / kNear;  // Keeps the powers of s near 1.
  const auto basis = [&](double s) {
    Vector b;
    double power = 1;
    for (int k = 0; k < kTerms; ++k, power *= s * scale) b(k) = power;
    return b;
  };
  std::vector<double> weights(samples.size(), 1.0);
  std::vector<double> residuals(samples.size());
  Matrix N;
  for (int pass = 0; pass < 6; ++pass) {
    N = Matrix::Zero();
    Vector g = Vector::Zero();
    for (size_t i = 0; i < samples.size(); ++i) {
      const Vector b = basis(samples[i].s);
      const double w = weights[i] / (samples[i].variance + floorVariance);
      N += w * b * b.transpose();
      g += w * samples[i].value * b;
    }
    for (int k = 0; k < kTerms; ++k) N(k, k) += usual(k) > 0 ? 1 / (usual(k) * usual(k)) : 1e-12;
    c = N.ldlt().solve(g);
    if (!c.allFinite()) return false;
    // Spread of the normalised residuals from their median size, which outliers cannot move.
    for (size_t i = 0; i < samples.size(); ++i) {
      residuals[i] =
          (samples[i].value - c.dot(basis(samples[i].s))) / std::sqrt(samples[i].variance + floorVariance);
    }
    std::vector<double> sizes;
    for (const double r : residuals) sizes.push_back(std::abs(r));
    const double spread = std::max(1.0, 1.4826 * median(std::move(sizes)));
    double inside = 0;
    double sum = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      const double u = residuals[i] / (4.0 * spread);
      weights[i] = std::abs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0.0;
      inside += weights[i] > 0.1 ? 1 : 0;
      sum += weights[i] * residuals[i] * residuals[i];
    }
    support = inside / static_cast<double>(samples.size());
    scatter = std::sqrt(sum / std::max(1.0, inside - kTerms));
  }
  covariance = N.inverse() * std::max(1.0, scatter * scatter);
  // Back to powers of plain s.
  double power = 1;
  for (int k = 0; k < kTerms; ++k, power *= scale) {
    c(k) *= power;
    covariance.row(k) *= power;
    covariance.col(k) *= power;
  }
  return true;
}

// Least median of squares over pairs: the start of the robust line, immune to a barb or a ring on one side.
bool startLine(const std::vector<Sample>& samples, double& offset, double& slope) {
  if (samples.size() < 4) return false;
  double best = 1e30;
  std::vector<double> sizes(samples.size());
  const size_t count = samples.size();
  const size_t stride = std::max<size_t>(1, count / 14);
  for (size_t i = 0; i < count; i += stride) {
    for (size_t j = i + 1; j < count; j += stride) {
      if (samples[j].s - samples[i].s < 3 * kSegment) continue;
      const double b = (samples[j].value - samples[i].value) / (samples[j].s - samples[i].s);
      const double a = samples[i].value - b * samples[i].s;
      for (size_t k = 0; k < count; ++k) {
        sizes[k] = std::abs(samples[k].value - a - b * samples[k].s) / std::sqrt(samples[k].variance + 0.04);
      }
      const double middle = median(sizes);
      if (middle < best) {
        best = middle;
        offset = a;
        slope = b;
      }
    }
  }
  return best < 1e29;
}

// Fits every stretch above the origin, from the one nearest `middle` outwards, each starting from its
// neighbour.
void fitStretches(const ImageView& image, const AxisFrame& frame, const BarProfile& start, double middle,
                  double half, double length, double minContrast, std::vector<BarProfile>& fits) {
  thread_local std::vector<float> profile;
  fits.clear();
  double from = 0;
  while (true) {
    // Far from the tip only the axis is wanted: longer stretches will do.
    const double stretch = from < kNear + kSegment ? kSegment : 2 * kSegment;
    // Leaving the image is the end: beyond it the border repeats.
    const double cx = frame.x(from + stretch, 0);
    const double cy = frame.y(from + stretch, 0);
    if (from + stretch > length || cx < 1 || cy < 1 || cx > image.width - 2 || cy > image.height - 2) break;
    BarProfile fit;
    fit.s = from + 0.5 * stretch;
    fits.push_back(fit);
    from += stretch;
  }
  const int count = static_cast<int>(fits.size());
  const int first = std::clamp(static_cast<int>(middle / kSegment), 0, std::max(0, count - 1));
  for (const int step : {1, -1}) {
    BarProfile previous = start;
    for (int i = step > 0 ? first : first - 1; i >= 0 && i < count; i += step) {
      const double s = fits[static_cast<size_t>(i)].s;
      const double rowStep = s < kNear + kSegment ? kRowStep : 2 * kRowStep;
      readProfile(image, frame, s, rowStep, kRows, half, 1.0, profile);
      BarProfile fit = previous;
      fitProfile(profile, -half, 1.0, 4.0, fit);
      fitSharply(profile, -half, 1.0, 4.0, previous, fit);
      fit.ok = fit.ok && fit.depth() > 0.5 * minContrast && std::min(fit.left, fit.right) > fit.core &&
               std::abs(fit.middle() - previous.middle()) < 12 && fit.width() > 0.35 * start.width() &&
               fit.width() < 1.8 * start.width() && fit.residual < 0.35 * fit.depth();
      fit.s = s;
      if (fit.ok) previous = fit;
      fits[static_cast<size_t>(i)] = fit;
    }
  }
}

}  // namespace

NeedleAxis fitNeedleAxis(const ImageView& image, const AxisFrame& rough, double width, double length,
                         double minContrast) {
  NeedleAxis axis;
  axis.frame = rough;
  const double half = std::ceil(0.5 * width + kFlank);
  const double reach = std::min(length, kReach);

  // One profile over the near shank, blurred by whatever the rough direction is off, starts the rest.
  thread_local std::vector<float> profile;
  const double nearMiddle = std::min(0.5 * reach, 150.0);
  readProfile(image, rough, nearMiddle, 8, std::max(2, static_cast<int>(std::min(reach, 200.0) / 8)), half,
              1.0, profile);
  const BarProfile start = startProfile(profile, half, 1.0, width);
  if (!start.ok || start.depth() < 0.5 * minContrast) {
    axis.reason = "no bar in the profiles";
    return axis;
  }

  std::vector<BarProfile>& fits = axis.profiles;
  std::vector<Sample> middles;
  Eigen::Vector2d line = Eigen::Vector2d::Zero();
  Eigen::Matrix2d lineCovariance = Eigen::Matrix2d::Zero();
  // A second pass only when the first turned the axis so far that the stretches were smeared.
  for (int pass = 0; pass < 2; ++pass) {
    fitStretches(image, axis.frame, start, nearMiddle, half, reach, minContrast, fits);
    middles.clear();
    for (const BarProfile& fit : fits) {
      if (fit.ok) middles.push_back({fit.s, fit.middle(), fit.middleVariance, 0.35 + 0.14 * fit.sigma});
    }
    double offset = 0;
    double slope = 0;
    if (middles.size() < 5 || !startLine(middles, offset, slope)) {
      axis.reason = "too few profiles show both edges";
      return axis;
    }
    std::vector<Sample> nearLine;
    for (const Sample& m : middles) {
      if (std::abs(m.value - offset - slope * m.s) < 2.0 + 3 * std::sqrt(m.variance)) nearLine.push_back(m);
    }
    double scatter = 0;
    double support = 0;
    if (!robustPolynomial<2>(nearLine, 0.02, Eigen::Vector2d::Zero(), line, lineCovariance, scatter,
                             support)) {
      axis.reason = "profiles do not lie on a line";
      return axis;
    }
    axis.support = support * static_cast<double>(nearLine.size()) / static_cast<double>(fits.size());
    double sum = 0;
    double weight = 0;
    for (const Sample& m : nearLine) {
      const double r = (m.value - line(0) - line(1) * m.s) / m.usual;
      const double w = 1 / (m.variance + 0.02);
      sum += w * r * r;
      weight += w;
    }
    axis.wander = std::sqrt(sum / weight);

    // The line t = a + b·s turns the direction by −atan b about the origin (s grows against the direction).
    const AxisFrame before = axis.frame;
    axis.slope = line(1);
    const double norm = std::hypot(1.0, line(1));
    axis.frame.originX = before.x(0, line(0));
    axis.frame.originY = before.y(0, line(0));
    axis.frame.directionX = (before.directionX - line(1) * before.normalX()) / norm;
    axis.frame.directionY = (before.directionY - line(1) * before.normalY()) / norm;
    if (std::abs(line(1)) < 0.008) break;
  }
  axis.acrossSigma = std::sqrt(lineCovariance(0, 0));
  axis.angleSigma = std::sqrt(lineCovariance(1, 1));

  if (!measureNearTip(axis, 0)) {
    axis.reason = "too few profiles near the tip";
    return axis;
  }
  axis.ok = true;
  return axis;
}

bool measureNearTip(NeedleAxis& axis, double tip) {
  // Profiles off the axis show something else: the line of their middles is known to be straight, so the
  // median will do.
  std::vector<double> offsets;
  for (const BarProfile& fit : axis.profiles) {
    if (fit.ok) offsets.push_back(fit.middle() - axis.slope * fit.s);
  }
  if (offsets.empty()) return false;
  const double offset = median(offsets);
  std::vector<const BarProfile*> good;
  const auto collect = [&](double from) {
    good.clear();
    for (const BarProfile& fit : axis.profiles) {
      const double off = fit.middle() - axis.slope * fit.s - offset;
      if (fit.ok && fit.s - tip > from && fit.s - tip < kNear &&
          std::abs(off) < 1 + 3 * std::sqrt(fit.middleVariance)) {
        good.push_back(&fit);
      }
    }
  };
  collect(kBarbZone);
  if (good.size() < 6) collect(0);
  if (good.size() < 3) return false;

  std::vector<Sample> blur;
  std::vector<Sample> nearWidths;
  std::vector<double> farWidths;
  std::vector<double> allWidths;
  std::vector<double> depths;
  std::vector<double> surrounds;
  std::vector<double> nearBlur;
  for (const BarProfile* fit : good) {
    const double u = fit->s - tip;
    const double square = fit->sigma * fit->sigma;
    blur.push_back({u, square, 4 * square * fit->sigmaVariance + 0.01});
    if (nearBlur.size() < 5) nearBlur.push_back(square);
    allWidths.push_back(fit->width());
    if (u > kTaperTop) {
      farWidths.push_back(fit->width());
    } else {
      nearWidths.push_back({u, fit->width(), fit->edgeVariance[0] + fit->edgeVariance[1] + 0.05});
    }
    if (u < 0.5 * kNear) {
      depths.push_back(fit->depth());
      surrounds.push_back(0.5 * (fit->left + fit->right));
    }
  }
  if (depths.empty()) return false;
  axis.depth = median(depths);
  axis.surround = median(surrounds);

  // Blur: σ² is a parabola in u when σ grows with the distance from focus as √(σ₀² + (k·Δ)²). With a depth of
  // field of ±50 µm and a needle at 35° to the view σ² gains some 35 px² over kNear, and a multiple of it far
  // from focus.
  const Eigen::Vector3d kUsualBlur(0, 80, 30);
  Eigen::Vector3d curve;
  Eigen::Matrix3d curveCovariance;
  double scatter = 0;
  double support = 0;
  const double nearSquare = median(nearBlur);
  double square = nearSquare;
  double squareVariance = 0.1 * nearSquare * nearSquare;
  double squareSlope = 0;
  axis.sharpest = std::numeric_limits<double>::quiet_NaN();
  if (blur.size() >= 6 &&
      robustPolynomial<3>(blur, 0.01, kUsualBlur, curve, curveCovariance, scatter, support)) {
    square = curve(0);
    squareSlope = curve(1);
    squareVariance = curveCovariance(0, 0);
    const double bend = curve(2);
    if (bend > 3 * std::sqrt(curveCovariance(2, 2))) axis.sharpest = tip - curve(1) / (2 * bend);
  }
  square = std::clamp(square, 0.4 * nearSquare, 2.0 * nearSquare) - kReadBlur;
  axis.sigma = std::sqrt(std::max(square, 0.2));
  axis.sigmaSigma = std::sqrt(squareVariance) / (2 * axis.sigma);
  axis.sigmaSlope = squareSlope / (2 * axis.sigma);

  // Width: shank above the taper, and the taper's line down to the tip.
  axis.shankWidth = median(farWidths.size() >= 3 ? farWidths : allWidths);
  axis.tipWidth = 0.65 * axis.shankWidth;
  axis.taper = 0;
  Eigen::Vector2d taper;
  Eigen::Matrix2d taperCovariance;
  if (robustPolynomial<2>(nearWidths, 0.1, Eigen::Vector2d::Zero(), taper, taperCovariance, scatter,
                          support)) {
    // Drawn towards the usual share as far as the profiles leave it open.
    const double usual = 0.62 * axis.shankWidth;
    const double usualVariance = 0.01 * axis.shankWidth * axis.shankWidth;
    const double weight = usualVariance / (usualVariance + taperCovariance(0, 0));
    axis.tipWidth =
        std::clamp(usual + weight * (taper(0) - usual), 0.45 * axis.shankWidth, 1.05 * axis.shankWidth);
    axis.taper = std::clamp(taper(1), 0.0, 0.3);
  }
  return true;
}

}  // namespace surgiclaw::geometry
