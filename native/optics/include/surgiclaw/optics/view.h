// The geometry of one view at one moment: a telecentric (weak-perspective) camera on a focus stage.
#pragma once

#include <algorithm>
#include <cmath>

#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::optics {

/// Where a world point appears. Pixels (pixel centres at whole numbers) and metres behind the focal plane.
struct ImagePoint {
  double x, y, depthM;
};

/// Blur of the point spread by defocus: sigma in pixels. [common geometry of the cell: 0.8 px in focus, and
/// 1.2 px more, in quadrature, for each depth of field away from it]
constexpr double kSharpSigmaPx = 0.8;
constexpr double kDefocusSigmaPx = 1.2;
inline double blurSigmaPx(double depthM, double dofM) {
  const double defocus = kDefocusSigmaPx * depthM / dofM;
  return std::sqrt(kSharpSigmaPx * kSharpSigmaPx + defocus * defocus);
}

/// x_px = 1024 + (r_x . (X - F) + wander_x) / s, likewise y; F is the focal point, which the focus stage
/// moves.
class View {
 public:
  View(const CameraScene& camera, const CameraState& state)
      : rows_(camera.rotation),
        focalPoint_(add(camera.focusPointM, scale(camera.focusDirection, state.focusM))),
        wander_(state.wanderM),
        metresPerPixel_(camera.metresPerPixel) {}

  [[nodiscard]] ImagePoint project(const Vec3& point) const {
    const Vec3 offset = subtract(point, focalPoint_);
    return {kCentre + (dot(rows_[0], offset) + wander_[0]) / metresPerPixel_,
            kCentre + (dot(rows_[1], offset) + wander_[1]) / metresPerPixel_, dot(rows_[2], offset)};
  }

  [[nodiscard]] const std::array<Vec3, 3>& rows() const { return rows_; }
  [[nodiscard]] double metresPerPixel() const { return metresPerPixel_; }
  [[nodiscard]] const Vec3& focalPoint() const { return focalPoint_; }

  static constexpr double kCentre = kSensorSize / 2.0;

 private:
  std::array<Vec3, 3> rows_;
  Vec3 focalPoint_;
  std::array<double, 2> wander_;
  double metresPerPixel_;
};

/// Depth of a plane behind the focal plane, as the pixel sees it: atCentre + perColumn (x - 1024) + perRow (y
/// - 1024).
struct PlaneDepth {
  double atCentre, perColumn, perRow;

  [[nodiscard]] double at(double x, double y) const {
    return atCentre + perColumn * (x - View::kCentre) + perRow * (y - View::kCentre);
  }

  /// Of the plane through `origin` with this normal, seen in `view` (image shift included).
  PlaneDepth(const View& view, const Vec3& origin, const Vec3& normal) {
    const auto& [right, down, forward] = view.rows();
    const double slope = dot(normal, forward);
    perColumn = -view.metresPerPixel() * dot(normal, right) / slope;
    perRow = -view.metresPerPixel() * dot(normal, down) / slope;
    // The depth at the pixel where the plane's origin appears is that of the origin itself.
    const ImagePoint image = view.project(origin);
    atCentre = image.depthM - perColumn * (image.x - View::kCentre) - perRow * (image.y - View::kCentre);
  }
};

}  // namespace surgiclaw::optics
