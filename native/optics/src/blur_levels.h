// Blurring whole canvases at start, with kernels whose second moment is known exactly.
#pragma once

#include <opencv2/core.hpp>

#include "surgiclaw/optics/scene.h"

namespace surgiclaw::optics {

/// A filter kernel and its second moment per axis, px^2. A separable kernel is one column.
struct BlurKernel {
  cv::Mat weights;
  double variance;
  bool separable;
};

/// Gaussian of sigma px, or disc of radius 2 sigma px, integrated over the pixels.
BlurKernel makeKernel(ImageModel model, double sigmaPx);

cv::Mat blur(const cv::Mat& image, const BlurKernel& kernel);

}  // namespace surgiclaw::optics
