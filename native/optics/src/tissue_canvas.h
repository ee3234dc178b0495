// The tissue of one view at many blurs, made once; a frame reads and mixes two of them, without any filter.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <vector>

#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/view.h"

namespace surgiclaw::optics {

class TissueCanvas {
 public:
  /// Pixels around the image that shifts may bring into it.
  static constexpr int kMargin = 128;
  static constexpr int kSize = kSensorSize + 2 * kMargin;

  /// Draws and blurs: a second or two.
  TissueCanvas(const Scene& scene, std::size_t camera);

  /// How the tissue lies in one frame.
  struct Pose {
    double shiftX, shiftY;  ///< px, against where it was drawn; held within the margin
    PlaneDepth depth;
    double dofM;
  };

  /// Reflectance of image row y, columns [x, x + count), into `out` (room for count + 3).
  void row(const Pose& pose, int y, int x, int count, float* out) const;

 private:
  /// One blur: 16-bit reflectance at full or quarter resolution.
  struct Level {
    double variance;  ///< of the blur, px^2
    cv::Mat pixels;
  };
  static constexpr int kReduction = 4;
  /// Reflectance of the largest 16-bit number; glints on fluid are brighter than white.
  static constexpr float kFullScale = 1.5f;

  void fineBlock(const Pose& pose, double variance, int y, int x, int count, float* out) const;
  void coarseBlock(const Pose& pose, double variance, int y, int x, int count, float* out) const;

  std::vector<Level> fine_;    ///< ascending
  std::vector<Level> coarse_;  ///< ascending; its first is as blurred as the last of fine_
};

}  // namespace surgiclaw::optics
