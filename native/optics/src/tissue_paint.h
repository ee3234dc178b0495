// The tissue as one view sees it at rest, perfectly sharp: texture, vessels, marks and fluid, drawn once.
#pragma once

#include <opencv2/core.hpp>

#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/view.h"

namespace surgiclaw::optics {

/// Reflectance of the tissue (CV_32F, size x size). Pixel (i, j) shows what image point (i - margin, j -
/// margin) of `view` shows. The texture hangs on the plane, so all views of a scene see the same tissue.
cv::Mat paintTissue(const Scene& scene, const View& view, int size, int margin);

}  // namespace surgiclaw::optics
