#include "blur_levels.h"

#include <cmath>
#include <opencv2/imgproc.hpp>

namespace surgiclaw::optics {
namespace {

double variancePerAxis(const cv::Mat& weights) {
  const int centreX = weights.cols / 2, centreY = weights.rows / 2;
  double sum = 0, horizontal = 0, vertical = 0;
  for (int y = 0; y < weights.rows; ++y) {
    for (int x = 0; x < weights.cols; ++x) {
      const double w = weights.at<float>(y, x);
      sum += w;
      horizontal += w * (x - centreX) * (x - centreX);
      vertical += w * (y - centreY) * (y - centreY);
    }
  }
  // One column is the vertical profile of a round kernel.
  return (weights.cols == 1 ? vertical : 0.5 * (horizontal + vertical)) / sum;
}

cv::Mat gaussianColumn(double sigma) {
  const int half = static_cast<int>(std::ceil(4 * sigma + 0.5));
  cv::Mat weights(2 * half + 1, 1, CV_32F);
  const auto below = [sigma](double x) { return 0.5 * std::erfc(-x / (sigma * std::sqrt(2.0))); };
  for (int i = -half; i <= half; ++i)
    weights.at<float>(i + half, 0) = static_cast<float>(below(i + 0.5) - below(i - 0.5));
  return weights;
}

cv::Mat discSquare(double radius) {
  const int half = static_cast<int>(std::ceil(radius));
  constexpr int kSub = 16;
  cv::Mat weights(2 * half + 1, 2 * half + 1, CV_32F);
  for (int y = -half; y <= half; ++y) {
    for (int x = -half; x <= half; ++x) {
      int inside = 0;
      for (int j = 0; j < kSub; ++j) {
        for (int i = 0; i < kSub; ++i) {
          const double px = x + (i + 0.5) / kSub - 0.5, py = y + (j + 0.5) / kSub - 0.5;
          inside += px * px + py * py <= radius * radius ? 1 : 0;
        }
      }
      weights.at<float>(y + half, x + half) = static_cast<float>(inside);
    }
  }
  return weights;
}

}  // namespace

BlurKernel makeKernel(ImageModel model, double sigmaPx) {
  const bool disc = model == ImageModel::kDisc;
  cv::Mat weights = disc ? discSquare(2 * sigmaPx) : gaussianColumn(sigmaPx);
  weights = weights / cv::sum(weights)[0];
  return {weights, variancePerAxis(weights), !disc};
}

cv::Mat blur(const cv::Mat& image, const BlurKernel& kernel) {
  cv::Mat result;
  if (kernel.separable)
    cv::sepFilter2D(image, result, CV_32F, kernel.weights, kernel.weights, cv::Point(-1, -1), 0,
                    cv::BORDER_REPLICATE);
  else
    cv::filter2D(image, result, CV_32F, kernel.weights, cv::Point(-1, -1), 0, cv::BORDER_REPLICATE);
  return result;
}

}  // namespace surgiclaw::optics
