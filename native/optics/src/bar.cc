#include "bar.h"

#include <algorithm>
#include <cmath>

namespace surgiclaw::optics {
namespace {

/// Cosine of the sharpest bend in the image that two bars share a border over: 75 degrees.
constexpr double kSharpestBend = 0.2588;
/// A bar this many sigma wide (half) is drawn with continuous ends.
constexpr double kSharpRatio = 4;

/// A segment above the surface, with what the surface did to it.
struct Visible {
  Segment segment;
  bool cutA, cutB;
};

double heightOf(const Vec3& point, const Vec3& surfacePoint, const Vec3& normal) {
  return dot(subtract(point, surfacePoint), normal);
}

/// The part above the surface; false when nothing is left.
bool clip(const Segment& segment, const Vec3& surfacePoint, const Vec3& normal, Visible& result) {
  const double heightA = heightOf(segment.a, surfacePoint, normal);
  const double heightB = heightOf(segment.b, surfacePoint, normal);
  result = {segment, heightA < 0, heightB < 0};
  if (result.cutA && result.cutB) return false;
  if (!result.cutA && !result.cutB) return true;
  const double share = heightA / (heightA - heightB);
  const Vec3 point = add(segment.a, scale(subtract(segment.b, segment.a), share));
  const double radius = segment.radiusA + share * (segment.radiusB - segment.radiusA);
  (result.cutA ? result.segment.a : result.segment.b) = point;
  (result.cutA ? result.segment.radiusA : result.segment.radiusB) = radius;
  return true;
}

Bar project(const Segment& segment, const View& view, double dofM) {
  const ImagePoint a = view.project(segment.a), b = view.project(segment.b);
  Bar bar{};
  bar.x = a.x;
  bar.y = a.y;
  bar.length = std::hypot(b.x - a.x, b.y - a.y);
  // Seen along its axis a segment is a disc; which way it points does not matter then.
  constexpr double kNoLengthPx = 1e-6;
  bar.ux = bar.length > kNoLengthPx ? (b.x - a.x) / bar.length : 1;
  bar.uy = bar.length > kNoLengthPx ? (b.y - a.y) / bar.length : 0;
  bar.radius0 = segment.radiusA / view.metresPerPixel();
  bar.radius1 = segment.radiusB / view.metresPerPixel();
  if (bar.length <= kNoLengthPx) {
    bar.length = 0;
    bar.radius0 = bar.radius1 = std::max(bar.radius0, bar.radius1);
  }
  bar.depth0 = a.depthM;
  bar.depth1 = b.depthM;
  bar.defocus0 = kDefocusSigmaPx * a.depthM / dofM;
  bar.defocus1 = kDefocusSigmaPx * b.depthM / dofM;
  bar.reflectance = segment.reflectance;
  bar.kind = segment.kind;
  bar.chain = Bar::kAlone;
  return bar;
}

bool same(const Vec3& a, const Vec3& b) {
  constexpr double kSameM = 1e-9;
  const Vec3 d = subtract(a, b);
  return dot(d, d) < kSameM * kSameM;
}

/// Lets `second` continue `first`: they share the bisector of their axes as border, so that together they
/// cover exactly what one long bar would. A sharp bend in the image has no useful bisector: both ends stay
/// round.
void join(Bar& first, Bar& second) {
  if (first.length < 0.5 || second.length < 0.5) return;
  if (first.ux * second.ux + first.uy * second.uy < kSharpestBend) return;
  double nx = first.ux + second.ux, ny = first.uy + second.uy;
  const double norm = std::hypot(nx, ny);
  nx /= norm;
  ny /= norm;
  const double along = nx * second.x + ny * second.y;
  first.end.joint = second.start.joint = true;
  first.end.nx = -nx;
  first.end.ny = -ny;
  first.end.offset = along;
  second.start.nx = nx;
  second.start.ny = ny;
  second.start.offset = -along;
}

/// Finds segments that continue one another, rings included.
std::size_t joinChains(std::vector<Bar>& bars, const std::vector<Visible>& visible) {
  std::size_t chains = 0, first = 0;
  for (std::size_t i = 1; i <= bars.size(); ++i) {
    const bool continues = i < bars.size() && bars[i].kind == bars[i - 1].kind && !visible[i - 1].cutB &&
                           !visible[i].cutA && same(visible[i - 1].segment.b, visible[i].segment.a);
    if (continues) {
      join(bars[i - 1], bars[i]);
      continue;
    }
    if (i - first > 1) {
      const bool ring = i - first > 2 && same(visible[i - 1].segment.b, visible[first].segment.a);
      if (ring) join(bars[i - 1], bars[first]);
      for (std::size_t k = first; k < i; ++k) bars[k].chain = chains;
      ++chains;
    }
    first = i;
  }
  return chains;
}

/// Mean of sqrt(1 - q^2) over each strip of a bar that reaches from q = -1 to 1: the strips of a half ball,
/// area exact.
std::array<double, kStrips> roundness() {
  const auto integral = [](double q) { return 0.5 * (q * std::sqrt(1 - q * q) + std::asin(q)); };
  std::array<double, kStrips> result{};
  for (std::size_t k = 0; k < kStrips; ++k) {
    const double a = 2.0 * static_cast<double>(k) / kStrips - 1, b = a + 2.0 / kStrips;
    result[k] = (integral(std::min(b, 1.0)) - integral(a)) / (b - a);
  }
  return result;
}

/// How a plane cuts the side of a bar that is seen: where the bar's surface at q half widths off the axis
/// meets the plane, along the axis in the image, beyond the end's line: slope q + bulge sqrt(1 - q^2) +
/// constant (px).
struct PlaneCut {
  bool steep;  ///< a bar that lies along the plane meets it nowhere in particular
  double constant, slope, bulge;
};
PlaneCut cutOf(const Bar& bar, const Segment& segment, bool atEnd, const View& view, const Vec3& surfacePoint,
               const Vec3& normal) {
  const auto& [right, down, forward] = view.rows();
  const Vec3 axis = subtract(segment.b, segment.a);
  const double axisLength = std::sqrt(dot(axis, axis));
  if (axisLength <= 0) return {false, 0, 0, 0};
  const Vec3 unit = scale(axis, (atEnd ? 1 : -1) / axisLength);
  const double fall = dot(normal, unit);
  if (fall > -0.2) return {false, 0, 0, 0};
  const Vec3 across = add(scale(right, -bar.uy), scale(down, bar.ux));
  const Vec3 along = scale(add(scale(right, bar.ux), scale(down, bar.uy)), atEnd ? 1 : -1);
  // Away from the axis, toward the camera: the side of the bar that is seen.
  Vec3 front = cross(unit, across);
  if (dot(front, forward) > 0) front = scale(front, -1);
  const double height = heightOf(atEnd ? segment.b : segment.a, surfacePoint, normal) / view.metresPerPixel();
  const double radius = atEnd ? bar.radius1 : bar.radius0;
  // Surface point: centre + radius (q across + sqrt(1 - q^2) front) + t unit; its height is zero at the cut.
  const double perFall = -dot(unit, along) / fall;
  return {true, perFall * height, radius * perFall * dot(normal, across),
          radius * (perFall * dot(normal, front) + dot(front, along))};
}

/// Round ends, and ends cut off by the surface of the tissue.
void shapeEnd(Bar& bar, const Visible& visible, bool atEnd, const View& view, const Vec3& surfacePoint,
              const Vec3& normal, double reach) {
  static const std::array<double, kStrips> kRound = roundness();
  BarEnd& end = atEnd ? bar.end : bar.start;
  const double sigma = bar.sigmaAt(atEnd ? 1 : 0);
  if (end.joint) {
    end.zone = reach * sigma + 1;
    return;
  }
  const double sign = atEnd ? 1 : -1;
  const double px = bar.x + (atEnd ? bar.ux * bar.length : 0);
  const double py = bar.y + (atEnd ? bar.uy * bar.length : 0);
  end.nx = -sign * bar.ux;
  end.ny = -sign * bar.uy;
  end.radius = atEnd ? bar.radius1 : bar.radius0;
  const bool clipped = atEnd ? visible.cutB : visible.cutA;
  const PlaneCut cut = cutOf(bar, visible.segment, atEnd, view, surfacePoint, normal);
  // The plane decides where it cuts off more than the half ball would reach anyway.
  end.cut = clipped || (cut.steep && cut.constant + cut.bulge < end.radius);
  double longest = 0;
  for (std::size_t k = 0; k < kStrips; ++k) {
    const double q = (2.0 * static_cast<double>(k) + 1) / kStrips - 1;
    const double ball = clipped ? 3 * end.radius : end.radius * kRound[k];
    const double plane =
        cut.steep ? cut.constant + cut.slope * q + cut.bulge * kRound[k] : (clipped ? 0 : ball);
    const double limit = 3 * end.radius;
    end.reach[k] = static_cast<float>(std::clamp(std::min(ball, plane), -limit, limit));
    longest = std::max(longest, std::abs(static_cast<double>(end.reach[k])));
  }
  end.sharp = end.radius >= kSharpRatio * sigma;
  if (end.cut) {
    end.slope = cut.slope;
    end.bulge = cut.bulge;
    // A cut end is drawn against its own line: the strips' reach counts from there too.
    for (float& each : end.reach) each -= static_cast<float>(cut.constant);
  }
  const double shift = end.cut ? cut.constant : 0;
  end.offset = -(end.nx * px + end.ny * py) + shift;
  end.zone = longest + std::abs(shift) + reach * sigma + 1;
}

}  // namespace

Bars makeBars(const std::vector<Segment>& segments, const View& view, const Vec3& surfacePoint,
              const Vec3& surfaceNormal, double dofM, double reach) {
  Bars result;
  std::vector<Visible> visible;
  for (const Segment& segment : segments) {
    Visible part{};
    if (!clip(segment, surfacePoint, surfaceNormal, part)) continue;
    visible.push_back(part);
    result.bars.push_back(project(part.segment, view, dofM));
  }
  result.chains = joinChains(result.bars, visible);
  for (std::size_t i = 0; i < result.bars.size(); ++i) {
    Bar& bar = result.bars[i];
    for (const bool atEnd : {false, true})
      shapeEnd(bar, visible[i], atEnd, view, surfacePoint, surfaceNormal, reach);
    for (int k = 0; k <= Bar::kPieces; ++k) {
      const double fraction = static_cast<double>(k) / Bar::kPieces;
      bar.band[static_cast<std::size_t>(k)] =
          bar.radius0 + fraction * (bar.radius1 - bar.radius0) + reach * bar.sigmaAt(fraction) + 1;
    }
    const double y1 = bar.y + bar.uy * bar.length;
    const double before = std::max(bar.band.front(), bar.start.zone);
    const double after = std::max(bar.band.back(), bar.end.zone);
    bar.top = std::min(bar.y - before, y1 - after);
    bar.bottom = std::max(bar.y + before, y1 + after);
  }
  return result;
}

}  // namespace surgiclaw::optics
