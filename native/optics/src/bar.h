// Segments of a frame made ready for drawing: bars in the image, with ends.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "row_kernels.h"
#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"
#include "surgiclaw/optics/view.h"

namespace surgiclaw::optics {

/// How a bar ends: with a straight line that it shares with its neighbour in the chain, or with a shape of
/// its own. Pixels.
struct BarEnd {
  bool joint = false;
  double nx = 0, ny = 0, offset = 0;  ///< distance inside the end's line: nx x + ny y + offset
  double zone = 0;                    ///< within this distance of the line the shape matters
  double radius = 0;
  bool sharp = false;  ///< wide against the blur
  bool cut = false;    ///< by a plane; otherwise a half ball
  /// A cut end reaches slope q + bulge sqrt(1 - q^2) beyond its line, q in half widths off the axis.
  double slope = 0, bulge = 0;
  /// What each lengthwise strip reaches beyond the line, when the end is drawn in strips.
  std::array<float, kStrips> reach{};
};

struct Bar {
  double x, y;    ///< start of the axis, px
  double ux, uy;  ///< along the axis
  double length;  ///< px
  double radius0, radius1;
  double depth0, depth1;      ///< of the axis behind the focal plane, m
  double defocus0, defocus1;  ///< defocus terms of sigma, px (signed)
  double reflectance;
  SegmentKind kind;
  BarEnd start, end;
  std::size_t chain;   ///< bars of one chain lie beside one another; kAlone when there is no other
  double top, bottom;  ///< rows it can touch
  /// Half width of the band it can touch, px, at kPieces + 1 places along it.
  static constexpr int kPieces = 8;
  std::array<double, kPieces + 1> band;

  static constexpr std::size_t kAlone = static_cast<std::size_t>(-1);

  /// Blur at a place on the axis (0 start, 1 end), sigma in px.
  [[nodiscard]] double sigmaAt(double fraction) const {
    const double defocus = defocus0 + fraction * (defocus1 - defocus0);
    return std::sqrt(kSharpSigmaPx * kSharpSigmaPx + defocus * defocus);
  }
};

/// What lies above the surface of the tissue, as bars, in the order of the segments. `reach` of the point
/// spread in sigma.
struct Bars {
  std::vector<Bar> bars;
  std::size_t chains = 0;
};
Bars makeBars(const std::vector<Segment>& segments, const View& view, const Vec3& surfacePoint,
              const Vec3& surfaceNormal, double dofM, double reach);

/// Puts what hides before what is hidden last: bars that overlap in the image are compared by depth where
/// they come nearest one another there, others by their mean depth.
void orderByDepth(std::vector<Bar>& bars);

}  // namespace surgiclaw::optics
