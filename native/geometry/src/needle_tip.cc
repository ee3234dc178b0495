#include "needle_tip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "normal_table.h"

namespace surgiclaw::geometry {
namespace {

// What the end's true shape, other than ball and cone, may move the tip: px when sharp, growing with the
// blur.
constexpr double kShapeError = 0.25;

// Step of the model's table, px.
double tableStep(double sigma) { return sigma > 4 ? 1.0 : 0.5; }

// Where across the axis the end is looked for: |t| from inner to outer, px. Along the middle, where the end
// is least affected by its shape; beside it when the shank shines there, because before a vessel a bright
// middle hardly differs from the background.
struct Stripes {
  double inner = 0;
  double outer = 0;

  double middle() const { return 0.5 * (inner + outer); }
};

// A round polished shank reflects the light along its middle: seen by comparing middle and sides from
// `shaft` upwards, where the end surely is not.
Stripes stripesFor(const ImageView& image, const NeedleAxis& axis, double shaft) {
  const Stripes beside{std::max(0.75, 0.15 * axis.tipWidth), std::max(1.75, 0.275 * axis.tipWidth)};
  constexpr int kSteps = 24;
  double shine = 0;
  for (int k = 0; k < kSteps; ++k) {
    const double s = shaft + 1.5 * axis.sigma + 16 + 3 * k;
    const auto at = [&](double t) {
      return static_cast<double>(sampleAt(image, axis.frame.x(s, t), axis.frame.y(s, t)));
    };
    shine += at(0) - 0.5 * (at(-beside.middle()) + at(beside.middle()));
  }
  if (shine / kSteps > 0.08 * axis.depth) return beside;
  return {0, std::max(1.5, 0.15 * axis.tipWidth)};
}

// How much of the light the needle takes at a distance above its tip, in the stripes: the silhouette
// convolved with the blur. Across the axis the edges are taken as locally parallel, which makes that
// direction exact for a bar and leaves one integral, along it.
class TipModel {
 public:
  TipModel(const NeedleAxis& axis, double sigma, const Stripes& stripes, double top)
      : step_(tableStep(sigma)), from_(-4 * sigma - 2) {
    const NormalTable& table = normalTable();
    const double tipHalf = 0.5 * axis.tipWidth;
    const double shankHalf = 0.5 * axis.shankWidth;
    // A ground tip: a ball of half the core's radius, and a cone from it to the core's full width.
    const double ball = 0.5 * tipHalf;
    const double cap = 1.1 * tipHalf;
    const double extent = 4 * sigma;
    const auto halfWidth = [&](double u) {
      const double h = std::min(shankHalf, tipHalf + 0.5 * axis.taper * u);
      if (u >= cap) return h;
      if (u >= ball) return ball + (tipHalf + 0.5 * axis.taper * cap - ball) * (u - ball) / (cap - ball);
      return std::sqrt(std::max(0.0, ball * ball - (ball - u) * (ball - u)));
    };
    // Share of a stripe covered at height u, blurred across only. Simpson's rule.
    const int count = static_cast<int>(std::ceil((top + extent) / step_)) + 1;
    std::vector<double> across(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      // Cells, not points: the first ones see the cap open steeply.
      const double h = halfWidth((i + 0.5) * step_);
      const auto covered = [&](double t) { return table.cdf((h - t) / sigma) - table.cdf((-h - t) / sigma); };
      across[static_cast<size_t>(i)] =
          (covered(stripes.inner) + 4 * covered(stripes.middle()) + covered(stripes.outer)) / 6;
    }
    const int cells = static_cast<int>(std::ceil((top - from_) / step_)) + 2;
    values_.resize(static_cast<size_t>(cells));
    const int reach = static_cast<int>(std::ceil(extent / step_)) + 1;
    // Mass of the blur in cell differences of −reach … reach, seen from a cell's left border.
    std::vector<double> mass(static_cast<size_t>(2 * reach + 1));
    for (int d = -reach; d <= reach; ++d) {
      mass[static_cast<size_t>(d + reach)] =
          table.cdf((d + 1) * step_ / sigma) - table.cdf(d * step_ / sigma);
    }
    from_ = std::floor(from_ / step_) * step_;
    const int first = static_cast<int>(std::lround(from_ / step_));
    for (int k = 0; k < cells; ++k) {
      double sum = 0;
      const int here = first + k;
      for (int d = -reach; d <= reach; ++d) {
        const int cell = here + d;
        if (cell < 0) continue;
        sum += mass[static_cast<size_t>(d + reach)] * across[static_cast<size_t>(std::min(cell, count - 1))];
      }
      values_[static_cast<size_t>(k)] = sum;
    }
  }

  double at(double u) const {
    const double position = (u - from_) / step_;
    if (position <= 0) return 0;
    const auto last = static_cast<double>(values_.size() - 1);
    if (position >= last) return values_.back();
    const auto index = static_cast<size_t>(position);
    const double fraction = position - static_cast<double>(index);
    return values_[index] + fraction * (values_[index + 1] - values_[index]);
  }

 private:
  double step_;
  double from_;
  std::vector<double> values_;
};

struct LinearFit {
  double residual = 1e30;  // Sum of squares.
  double surround = 0;
  double depth = 0;
};

// I = surround − depth · F over samples from … to of the profile, whose first sample lies at s = first.
LinearFit fitAt(const std::vector<double>& profile, double first, int from, int to, const TipModel& model,
                double tip) {
  double n = 0, f = 0, ff = 0, i = 0, fi = 0, ii = 0;
  for (int k = from; k <= to; ++k) {
    const double value = profile[static_cast<size_t>(k)];
    const double cover = model.at(first + k - tip);
    n += 1;
    f += cover;
    ff += cover * cover;
    i += value;
    fi += cover * value;
    ii += value * value;
  }
  LinearFit fit;
  const double determinant = n * ff - f * f;
  if (!(determinant > 1e-6 * n)) return fit;
  const double slope = (n * fi - f * i) / determinant;
  fit.depth = -slope;
  fit.surround = (i - slope * f) / n;
  fit.residual = std::max(0.0, ii - fit.surround * i - slope * fi);
  return fit;
}

struct Located {
  double s = 0;
  LinearFit fit;
  double curvature = 0;
  int samples = 0;
};

// The best tip position near `guess` in a window that moves with the guess.
Located refine(const std::vector<double>& profile, double first, const TipModel& model, double guess,
               double below, double above, double range) {
  Located best;
  best.s = guess;
  const int count = static_cast<int>(profile.size());
  // The window follows the guess, so the minimum may move with it: until it stays inside its span.
  for (int round = 0; round < 5; ++round) {
    const int from = std::clamp(static_cast<int>(std::lround(best.s - below - first)), 0, count - 1);
    const int to = std::clamp(static_cast<int>(std::lround(best.s + above - first)), from, count - 1);
    const double step = round == 0 ? 1.0 : 0.25;
    const double centre = best.s;
    const double span = round == 0 ? range : 2.5;
    best.fit = LinearFit{};
    for (double s = centre - span; s <= centre + span + 1e-9; s += step) {
      const LinearFit fit = fitAt(profile, first, from, to, model, s);
      if (fit.depth > 0 && fit.residual < best.fit.residual) {
        best.fit = fit;
        best.s = s;
      }
    }
    best.samples = to - from + 1;
    if (round > 0 && std::abs(best.s - centre) < span - step) {
      const double a = fitAt(profile, first, from, to, model, best.s - 0.5).residual;
      const double b = best.fit.residual;
      const double c = fitAt(profile, first, from, to, model, best.s + 0.5).residual;
      best.curvature = (a - 2 * b + c) / 0.25;
      if (best.curvature > 1e-9) best.s += std::clamp(0.25 * (a - c) / (a - 2 * b + c), -0.5, 0.5);
      break;
    }
  }
  return best;
}

// How much darker the core is than its darker side, as a share of it, between its rounded end and the barb: a
// share, since over a vessel everything is darker. A ribbon that crosses beyond a hidden tip ends as dark and
// as sharply as a needle, but is not bright on both sides there.
double flankContrast(const ImageView& image, const NeedleAxis& axis, double tip, const Stripes& stripes) {
  const double side = 0.5 * axis.tipWidth + 1.5 * axis.sigma + 3;
  const double start = tip + 0.55 * axis.tipWidth;
  double sums[3] = {0, 0, 0};
  constexpr int kSteps = 12;
  for (int k = 0; k < kSteps; ++k) {
    int column = 0;
    for (const double t : {-side, 0.0, side}) {
      for (const double off : {-stripes.middle(), stripes.middle()}) {
        sums[column] += static_cast<double>(
            sampleAt(image, axis.frame.x(start + k, t + off), axis.frame.y(start + k, t + off)));
      }
      ++column;
    }
  }
  const double darker = std::min(sums[0], sums[2]);
  return (darker - sums[1]) / std::max(1.0, darker);
}

// Where the dark core most likely ends: as dark as the shaft on one side, clearly brighter on the other,
// whatever the background is there. `around` when nothing is better.
double coarseEnd(const std::vector<double>& profile, double first, const NeedleAxis& axis, double around,
                 double range) {
  // Blurred, the narrow end is never as dark as the fitted core.
  const double visible = 2 * normalTable().cdf(0.5 * axis.tipWidth / axis.sigma) - 1;
  const double core = axis.surround - visible * axis.depth;
  const int gap = static_cast<int>(std::lround(1.5 * axis.sigma + 3));
  constexpr int kMean = 16;
  const int count = static_cast<int>(profile.size());
  std::vector<double> sums(static_cast<size_t>(count) + 1, 0.0);
  for (int k = 0; k < count; ++k) {
    sums[static_cast<size_t>(k) + 1] = sums[static_cast<size_t>(k)] + profile[static_cast<size_t>(k)];
  }
  const auto mean = [&](int from) {
    return (sums[static_cast<size_t>(from + kMean)] - sums[static_cast<size_t>(from)]) / kMean;
  };
  // A vessel behind is paler than the shaft; only blur makes the shaft's own end pale.
  const double darkest = core + (0.12 + 0.18 * std::min(1.0, axis.sigma / 5)) * axis.depth;
  double best = 0.1;
  double end = around;
  const int from = std::max(gap + kMean, static_cast<int>(std::lround(around - range - first)));
  const int to = std::min(count - gap - kMean - 1, static_cast<int>(std::lround(around + range - first)));
  for (int k = from; k <= to; ++k) {
    const double inside = mean(k + gap);
    const double outside = mean(k - gap - kMean);
    if (inside > darkest) continue;
    const double score = (outside - inside) / std::max(1.0, outside + inside);
    if (score > best) {
      best = score;
      end = first + k;
    }
  }
  return end;
}

}  // namespace

NeedleTip fitNeedleTip(const ImageView& image, const NeedleAxis& axis, double around, double range) {
  NeedleTip tip;
  const double sigma = axis.sigma;
  const Stripes stripes = stripesFor(image, axis, around + range);
  const double below = 3 * sigma + 10;
  const double above = 3 * sigma + 0.5 * axis.tipWidth + 14;

  // The profile along the axis, one sample a pixel, averaged over both stripes.
  const double first = std::floor(around - range - below - 4);
  const int count = static_cast<int>(std::ceil(2 * range + below + above + 8)) + 1;
  std::vector<double> profile(static_cast<size_t>(count));
  constexpr int kLines = 3;  // In a stripe.
  int seen = 0;
  for (int k = 0; k < count; ++k) {
    const double s = first + k;
    double sum = 0;
    for (int j = 0; j < kLines; ++j) {
      const double t = stripes.inner + (stripes.outer - stripes.inner) * j / (kLines - 1);
      sum += static_cast<double>(sampleAt(image, axis.frame.x(s, t), axis.frame.y(s, t)));
      sum += static_cast<double>(sampleAt(image, axis.frame.x(s, -t), axis.frame.y(s, -t)));
    }
    profile[static_cast<size_t>(k)] = sum / (2 * kLines);
    const double x = axis.frame.x(s, 0);
    const double y = axis.frame.y(s, 0);
    if (x >= 0 && y >= 0 && x <= image.width - 1 && y <= image.height - 1) ++seen;
  }
  if (seen < count / 2) {
    tip.reason = "tip outside the image";
    return tip;
  }

  const TipModel model(axis, sigma, stripes, above + 2 * range + 8);
  const double guess = coarseEnd(profile, first, axis, around, range);
  const Located best = refine(profile, first, model, guess, below, above, 8);
  const double variance = best.fit.residual / std::max(1, best.samples - 3) + 0.03;
  // Shares, not grey levels: over a vessel all of them are smaller.
  const double share = best.fit.depth / std::max(1.0, best.fit.surround);
  if (!(best.curvature > 1e-9) || !(share > 0.25 * axis.depth / std::max(1.0, axis.surround))) {
    tip.reason = "no end of the bar in view";
    return tip;
  }
  // Neighbouring samples share texture and blur.
  const double correlation = 2 + 2 * sigma;
  const double statistical = 2 * variance * correlation / best.curvature;

  // What the uncertain blur does to the position, from one refit with a blur of one standard deviation more.
  const double moreSigma = sigma + std::clamp(axis.sigmaSigma, 0.05 * sigma, 0.5 * sigma);
  NeedleAxis other = axis;
  other.sigma = moreSigma;
  const TipModel otherModel(other, moreSigma, stripes, above + 2 * range + 8);
  const Located shifted = refine(profile, first, otherModel, best.s, below, above, 4);
  const double byBlur = shifted.s - best.s;

  tip.s = best.s;
  tip.sigma =
      std::sqrt(statistical + byBlur * byBlur + kShapeError * kShapeError * (1 + 0.3 * sigma * sigma));
  tip.depth = best.fit.depth;
  tip.surround = best.fit.surround;
  tip.residual = std::sqrt(variance);
  tip.flank = flankContrast(image, axis, best.s, stripes);
  tip.ok = true;
  return tip;
}

}  // namespace surgiclaw::geometry
