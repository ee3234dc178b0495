#include "tissue_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "blur_levels.h"
#include "row_kernels.h"
#include "tissue_paint.h"

namespace surgiclaw::optics {
namespace {

// A mixture of two blurs is a good stand-in for the one between them when they are no further apart than a
// factor of the square root of two. The sharpest is sharper than any frame, because the sub-pixel shift blurs
// too.
constexpr std::array<double, 8> kFineSigmas{0.45, 0.85, 1.2, 1.75, 2.5, 3.6, 5.2, 7.4};
constexpr std::array<double, 7> kCoarseSigmas{7.4, 10.5, 15, 21.5, 31, 44, 62};

// Variance that reducing by a box of 4 and reading back by linear interpolation adds, px^2: (4^2 - 1) / 12
// for the box, 4^2 / 6 for the triangle, averaged over sub-pixel positions.
constexpr double kReductionVariance = 15.0 / 12.0;
constexpr double kExpansionVariance = 16.0 / 6.0;

// One blur per block is enough: the plane's depth hardly changes along a row.
constexpr int kFineBlock = 128;
constexpr int kCoarseBlock = 256;

cv::Mat stored(const cv::Mat& reflectance, float fullScale) {
  cv::Mat result;
  reflectance.convertTo(result, CV_16U, 65535.0 / fullScale);
  return result;
}

/// Mixing weight (of `high`) that gives the second moment `variance`, and the pair it belongs to.
struct Pair {
  std::size_t low;
  double share;
};
template <typename Levels>
Pair pairFor(const Levels& levels, double variance) {
  std::size_t low = 0;
  while (low + 2 < levels.size() && levels[low + 1].variance < variance) ++low;
  const double span = levels[low + 1].variance - levels[low].variance;
  return {low, std::clamp((variance - levels[low].variance) / span, 0.0, 1.0)};
}

std::uint16_t weight(double share) { return static_cast<std::uint16_t>(share * 65535); }

}  // namespace

TissueCanvas::TissueCanvas(const Scene& scene, std::size_t camera) {
  const View rest(scene.cameras.at(camera), CameraState{});
  const cv::Mat sharp = paintTissue(scene, rest, kSize, kMargin);
  const bool gaussian = scene.model == ImageModel::kGaussian;

  // Gaussians add up, so each level is made from the one before; discs do not, so each is made from the sharp
  // canvas. The reduced levels start from the last but one, for reducing blurs a little too.
  cv::Mat source = sharp;
  double variance = 0;
  for (const double sigma : kFineSigmas) {
    const BlurKernel kernel = makeKernel(scene.model, std::sqrt(sigma * sigma - variance));
    const cv::Mat blurred = blur(source, kernel);
    fine_.push_back({variance + kernel.variance, stored(blurred, kFullScale)});
    if (gaussian && fine_.size() < kFineSigmas.size()) {
      source = blurred;
      variance += kernel.variance;
    }
  }
  cv::Mat reduced;
  cv::resize(source, reduced, cv::Size(), 1.0 / kReduction, 1.0 / kReduction, cv::INTER_AREA);
  variance += kReductionVariance;
  constexpr double kArea = kReduction * kReduction;
  for (const double sigma : kCoarseSigmas) {
    const double missing = sigma * sigma - variance - kExpansionVariance;
    const BlurKernel kernel = makeKernel(scene.model, std::sqrt(missing / kArea));
    const cv::Mat blurred = blur(reduced, kernel);
    const double added = kernel.variance * kArea;
    coarse_.push_back({variance + added + kExpansionVariance, stored(blurred, kFullScale)});
    if (gaussian) {
      reduced = blurred;
      variance += added;
    }
  }
}

void TissueCanvas::row(const Pose& pose, int y, int x, int count, float* out) const {
  const double edge = std::sqrt(fine_.back().variance);
  const auto sigmaAt = [&](int column) { return blurSigmaPx(pose.depth.at(column, y), pose.dofM); };
  for (int done = 0; done < count;) {
    const int coarse = std::min(kCoarseBlock, count - done), fine = std::min(kFineBlock, count - done);
    const double sigma = sigmaAt(x + done + coarse / 2);
    if (sigma >= edge) {
      coarseBlock(pose, sigma * sigma, y, x + done, coarse, out + done);
      done += coarse;
    } else {
      const double here = sigmaAt(x + done + fine / 2);
      fineBlock(pose, here * here, y, x + done, fine, out + done);
      done += fine;
    }
  }
}

void TissueCanvas::fineBlock(const Pose& pose, double variance, int y, int x, int count, float* out) const {
  const double sourceX = x - pose.shiftX + kMargin, sourceY = y - pose.shiftY + kMargin;
  const double left = std::floor(sourceX), top = std::floor(sourceY);
  const double fx = sourceX - left, fy = sourceY - top;
  // Reading between pixels blurs by f (1 - f) per axis; the levels have to give the rest only.
  const Pair pair = pairFor(fine_, variance - 0.5 * (fx * (1 - fx) + fy * (1 - fy)));
  const int column = std::clamp(static_cast<int>(left), 0, kSize - 1 - count);
  const int row0 = std::clamp(static_cast<int>(top), 0, kSize - 1);
  const int row1 = std::min(row0 + 1, kSize - 1);
  const cv::Mat& low = fine_[pair.low].pixels;
  const cv::Mat& high = fine_[pair.low + 1].pixels;
  const std::uint16_t weights[4] = {weight((1 - pair.share) * (1 - fy)), weight((1 - pair.share) * fy),
                                    weight(pair.share * (1 - fy)), weight(pair.share * fy)};
  std::uint16_t mixed[kFineBlock + 1];
  blendFourRows(low.ptr<std::uint16_t>(row0) + column, low.ptr<std::uint16_t>(row1) + column,
                high.ptr<std::uint16_t>(row0) + column, high.ptr<std::uint16_t>(row1) + column, weights,
                mixed, count + 1);
  shiftRow(mixed, weight(1 - fx), weight(fx), kFullScale / 65535, out, count);
}

void TissueCanvas::coarseBlock(const Pose& pose, double variance, int y, int x, int count, float* out) const {
  // Sample j of a reduced row lies at pixel 4 j + 1.5 of the canvas.
  constexpr double kFirst = (kReduction - 1) / 2.0;
  constexpr int kReduced = kSize / kReduction;
  constexpr int kGroups = kCoarseBlock / kReduction;
  const double sourceX = (x - pose.shiftX + kMargin - kFirst) / kReduction;
  const double sourceY = (y - pose.shiftY + kMargin - kFirst) / kReduction;
  const double left = std::floor(sourceX), top = std::floor(sourceY);
  const double fx = sourceX - left, fy = sourceY - top;
  const Pair pair = pairFor(coarse_, variance);
  const int groups = (count + kReduction - 1) / kReduction;
  const int column = std::clamp(static_cast<int>(left), 0, kReduced - groups - 2);
  const int row0 = std::clamp(static_cast<int>(top), 0, kReduced - 1);
  const int row1 = std::min(row0 + 1, kReduced - 1);
  const cv::Mat& low = coarse_[pair.low].pixels;
  const cv::Mat& high = coarse_[pair.low + 1].pixels;
  const std::uint16_t weights[4] = {weight((1 - pair.share) * (1 - fy)), weight((1 - pair.share) * fy),
                                    weight(pair.share * (1 - fy)), weight(pair.share * fy)};
  std::uint16_t mixed[kGroups + 2];
  blendFourRows(low.ptr<std::uint16_t>(row0) + column, low.ptr<std::uint16_t>(row1) + column,
                high.ptr<std::uint16_t>(row0) + column, high.ptr<std::uint16_t>(row1) + column, weights,
                mixed, groups + 2);
  float phases[12] = {};
  constexpr double kToReflectance = static_cast<double>(kFullScale) / 65535;
  for (int p = 0; p < kReduction; ++p) {
    const double at = fx + static_cast<double>(p) / kReduction;
    const int first = at >= 1 ? 1 : 0;
    phases[3 * p + first] = static_cast<float>((1 - (at - first)) * kToReflectance);
    phases[3 * p + first + 1] = static_cast<float>((at - first) * kToReflectance);
  }
  expandRow(mixed, phases, out, groups);
}

}  // namespace surgiclaw::optics
