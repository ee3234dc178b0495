// A calibration target of one frame: a flat plate with a chessboard, which fills the whole view. Each pixel
// is the exact integral of the point spread over the pattern, crossings of lines at any angle included.
#pragma once

#include <optional>

#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"
#include "surgiclaw/optics/view.h"

namespace surgiclaw::optics {

class PlatePainter {
 public:
  explicit PlatePainter(ImageModel model) : model_(model) {}

  /// Takes over how the plate lies in a frame.
  void prepare(const Plate& plate, const View& view, double dofM);

  /// Reflectance of row y, columns [x, x + count).
  void row(int y, int x, int count, float* reflectance) const;

  /// Bins of the point spread across the first family of lines.
  static constexpr int kBins = 16;

 private:
  /// A coordinate of the pattern: squares, counted from its border, along the image. Lines lie at whole
  /// numbers.
  struct Coordinate {
    double atOrigin, perColumn, perRow;
    double slope;  ///< squares per px across the lines
    int squares;

    [[nodiscard]] double at(double x, double y) const { return atOrigin + perColumn * x + perRow * y; }
    /// Whether a line lies within `reach` of [low, high].
    [[nodiscard]] bool lineIn(double low, double high, double reach) const;
    /// Whether all between a and b lies farther than `reach` beyond the border.
    [[nodiscard]] bool outside(double a, double b, double reach) const;
  };

  template <typename Edge, typename Chord>
  [[nodiscard]] double dark(double u, double v, double sigmaPx) const;
  [[nodiscard]] float pixel(double u, double v, double sigmaPx) const;

  ImageModel model_;
  double white_ = 0, black_ = 0;
  Coordinate u_{}, v_{};
  double along_ = 0;  ///< cosine of the angle between the normals of both families of lines in the image
  double dofM_ = 50e-6;
  std::optional<PlaneDepth> depth_;  ///< nothing while the plate turns its back on the camera
};

}  // namespace surgiclaw::optics
