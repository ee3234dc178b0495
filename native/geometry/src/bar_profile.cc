#include "bar_profile.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "normal_table.h"

namespace surgiclaw::geometry {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

constexpr double kMinSigma = 0.35;
constexpr double kMaxSigma = 45;
// Needles of 25–50 µm at about 1.2 µm/px. So weak that it only decides where the picture does not: a bar
// blurred by more than a third of its width looks the same somewhat wider, sharper and paler.
constexpr double kUsualWidth = 33;
constexpr double kUsualWidthWeight = 4.0 / (8.0 * 8.0);
/// A fit that leaves more than this share of the depth unexplained beside the bar met something else there.
constexpr double kPoorShare = 0.05;
/// Background that a sharp edge needs beside it, px, and the blur that its fit starts from.
constexpr double kSharpFlank = 12;
constexpr double kSharpStart = 1.5;

// Sum of squared residuals and the normal equations. Parameters: edgeL, edgeR, ln σ, core, left, right.
double evaluate(const std::vector<float>& profile, double from, double step, const Vector6& p,
                Matrix6& normal, Vector6& gradient) {
  const NormalTable& table = normalTable();
  const double inverse = std::exp(-p(2));
  const double core = p(3);
  const double stepL = p(4) - core;
  const double stepR = p(5) - core;
  const double scaledL = stepL * inverse;
  const double scaledR = stepR * inverse;
  double sum = 0;
  double N[6][6] = {};
  double g[6] = {};
  double zl = (p(0) - from) * inverse;
  double zr = (from - p(1)) * inverse;
  const double dz = step * inverse;
  for (size_t i = 0; i < profile.size(); ++i, zl -= dz, zr += dz) {
    const NormalTable::Value l = table.at(zl);
    const NormalTable::Value r = table.at(zr);
    const double residual = core + stepL * l.cdf + stepR * r.cdf - static_cast<double>(profile[i]);
    sum += residual * residual;
    const double J[6] = {scaledL * l.pdf,
                         -scaledR * r.pdf,
                         -(stepL * l.pdf * zl + stepR * r.pdf * zr),
                         1 - l.cdf - r.cdf,
                         l.cdf,
                         r.cdf};
    for (int a = 0; a < 6; ++a) {
      g[a] += J[a] * residual;
      for (int b = a; b < 6; ++b) N[a][b] += J[a] * J[b];
    }
  }
  const double wider = p(1) - p(0) - kUsualWidth;
  sum += kUsualWidthWeight * wider * wider;
  g[0] -= kUsualWidthWeight * wider;
  g[1] += kUsualWidthWeight * wider;
  N[0][0] += kUsualWidthWeight;
  N[1][1] += kUsualWidthWeight;
  N[0][1] -= kUsualWidthWeight;
  for (int a = 0; a < 6; ++a) {
    gradient(a) = g[a];
    for (int b = a; b < 6; ++b) normal(a, b) = normal(b, a) = N[a][b];
  }
  return sum;
}

double phi(double z) { return normalTable().at(z).cdf; }

Vector6 pack(const BarProfile& fit) {
  Vector6 p;
  p << fit.edgeL, fit.edgeR, std::log(std::clamp(fit.sigma, kMinSigma, kMaxSigma)), fit.core, fit.left,
      fit.right;
  return p;
}

}  // namespace

double BarProfile::at(double t) const {
  return core + (left - core) * phi((edgeL - t) / sigma) + (right - core) * phi((t - edgeR) / sigma);
}

void readProfile(const ImageView& image, const AxisFrame& frame, double s, double rowStep, int rows,
                 double half, double step, std::vector<float>& profile) {
  const auto count = static_cast<size_t>(std::floor(2 * half / step + 1e-9)) + 1;
  profile.assign(count, 0.0f);
  const double nx = frame.normalX() * step;
  const double ny = frame.normalY() * step;
  for (int r = 0; r < rows; ++r) {
    const double sr = s + (r - 0.5 * (rows - 1)) * rowStep;
    const double x0 = frame.x(sr, -half);
    const double y0 = frame.y(sr, -half);
    const double x1 = x0 + nx * static_cast<double>(count - 1);
    const double y1 = y0 + ny * static_cast<double>(count - 1);
    const bool inside = std::min(x0, x1) >= 0 && std::max(x0, x1) < image.width - 1.001 &&
                        std::min(y0, y1) >= 0 && std::max(y0, y1) < image.height - 1.001;
    if (inside) {
      for (size_t i = 0; i < count; ++i) {
        const auto k = static_cast<double>(i);
        profile[i] += bilinearInside(image.data, image.stride, x0 + k * nx, y0 + k * ny);
      }
    } else {
      for (size_t i = 0; i < count; ++i) {
        const auto k = static_cast<double>(i);
        profile[i] += sampleAt(image, x0 + k * nx, y0 + k * ny);
      }
    }
  }
  const float scale = 1.0f / static_cast<float>(rows);
  for (float& value : profile) value *= scale;
}

void fitProfile(const std::vector<float>& profile, double from, double step, double correlation,
                BarProfile& fit) {
  fit.ok = false;
  if (profile.size() < 12) return;
  Vector6 p = pack(fit);
  Matrix6 N;
  Vector6 g;
  double sum = evaluate(profile, from, step, p, N, g);
  double damping = 1e-3;
  Matrix6 nextN;
  Vector6 nextG;
  for (int iteration = 0; iteration < 12; ++iteration) {
    Matrix6 damped = N;
    damped.diagonal() += damping * N.diagonal() + Vector6::Constant(1e-9);
    Vector6 change = damped.ldlt().solve(-g);
    if (!change.allFinite()) return;
    change(0) = std::clamp(change(0), -6.0, 6.0);
    change(1) = std::clamp(change(1), -6.0, 6.0);
    change(2) = std::clamp(change(2), -0.7, 0.7);
    Vector6 next = p + change;
    next(2) = std::clamp(next(2), std::log(kMinSigma), std::log(kMaxSigma));
    const double nextSum = evaluate(profile, from, step, next, nextN, nextG);
    if (nextSum < sum) {
      const bool done = sum - nextSum < 1e-3 * sum;
      p = next;
      N = nextN;
      g = nextG;
      sum = nextSum;
      damping *= 0.2;
      if (done) break;
    } else {
      damping *= 8;
      if (damping > 1e3) break;
    }
  }
  fit.edgeL = p(0);
  fit.edgeR = p(1);
  fit.sigma = std::exp(p(2));
  fit.core = p(3);
  fit.left = p(4);
  fit.right = p(5);
  const auto count = static_cast<double>(profile.size());
  fit.residual = std::sqrt(sum / count);
  // 0.03 grey levels²: rounding to whole levels, averaged; keeps a perfect fit from claiming no error at all.
  const double variance = (sum / std::max(1.0, count - 6) + 0.03) * correlation;
  Matrix6 regular = N;
  regular.diagonal() += 1e-9 * N.diagonal() + Vector6::Constant(1e-9);
  const Matrix6 covariance = regular.inverse() * variance;
  fit.edgeVariance[0] = covariance(0, 0);
  fit.edgeVariance[1] = covariance(1, 1);
  fit.middleVariance = 0.25 * (covariance(0, 0) + covariance(1, 1) + 2 * covariance(0, 1));
  fit.sigmaVariance = covariance(2, 2) * fit.sigma * fit.sigma;
  fit.ok = p.allFinite() && std::isfinite(fit.middleVariance) && fit.edgeR > fit.edgeL;
}

void fitSharply(const std::vector<float>& profile, double from, double step, double correlation,
                const BarProfile& start, BarProfile& fit) {
  const auto index = [&](double t) {
    return std::clamp(static_cast<ptrdiff_t>(std::lround((t - from) / step)), ptrdiff_t{0},
                      static_cast<ptrdiff_t>(profile.size()) - 1);
  };
  const ptrdiff_t first = index(start.edgeL - kSharpFlank);
  const ptrdiff_t last = index(start.edgeR + kSharpFlank);
  if (last - first < 15) return;
  const auto at = [&](ptrdiff_t i) { return from + static_cast<double>(i) * step; };
  // How badly a fit explains edges and close flanks; the core's middle, where a round shank shines, apart.
  const double coreL = start.edgeL + 0.25 * start.width();
  const double coreR = start.edgeR - 0.25 * start.width();
  const auto misfit = [&](const BarProfile& of) {
    double sum = 0;
    int count = 0;
    for (ptrdiff_t i = first; i <= last; ++i) {
      const double t = at(i);
      if (t > coreL && t < coreR) continue;
      const double r = of.at(t) - static_cast<double>(profile[static_cast<size_t>(i)]);
      sum += r * r;
      ++count;
    }
    return std::sqrt(sum / std::max(1, count));
  };
  const double before = fit.ok ? misfit(fit) : 1e9;
  if (before < kPoorShare * start.depth()) return;
  thread_local std::vector<float> inner;
  inner.assign(profile.begin() + first, profile.begin() + last + 1);
  BarProfile sharp = start;
  sharp.sigma = std::min(start.sigma, kSharpStart);
  sharp.left = static_cast<double>(inner.front());
  sharp.right = static_cast<double>(inner.back());
  fitProfile(inner, at(first), step, correlation, sharp);
  if (sharp.ok && sharp.sigma < kSharpFlank / 3 && misfit(sharp) < 0.6 * before) fit = sharp;
}

BarProfile startProfile(const std::vector<float>& profile, double half, double step, double width) {
  BarProfile best;
  double bestResidual = 1e30;
  const auto count = static_cast<int>(profile.size());
  const auto mean = [&](double a, double b) {
    const int i0 = std::clamp(static_cast<int>(std::lround((a + half) / step)), 0, count - 1);
    const int i1 = std::clamp(static_cast<int>(std::lround((b + half) / step)), i0, count - 1);
    double sum = 0;
    for (int i = i0; i <= i1; ++i) sum += static_cast<double>(profile[static_cast<size_t>(i)]);
    return sum / (i1 - i0 + 1);
  };
  for (const double sigma : {1.2, 4.0, 10.0}) {
    BarProfile fit;
    fit.sigma = sigma;
    fit.edgeL = -0.5 * width;
    fit.edgeR = 0.5 * width;
    fit.core = mean(-0.2 * width, 0.2 * width);
    fit.left = mean(-half, -0.5 * width - 6);
    fit.right = mean(0.5 * width + 6, half);
    fitProfile(profile, -half, step, 1, fit);
    fitSharply(profile, -half, step, 1, fit, fit);
    if (fit.ok && fit.residual < bestResidual) {
      bestResidual = fit.residual;
      best = fit;
    }
  }
  return best;
}

}  // namespace surgiclaw::geometry
