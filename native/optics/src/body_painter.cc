#include "body_painter.h"

#include <algorithm>
#include <cmath>

#include "edge_spread.h"

namespace surgiclaw::optics {
namespace {

/// How the ring of light is mirrored in each kind: brightness and width of the line, in half widths. The line
/// lies on the axis, so that it does not draw the centre of gravity of a profile aside.
struct Gloss {
  float brightness, width;
};
constexpr Gloss kGloss[kSegmentKinds] = {
    {0.16f, 0.16f},  // needle: polished tungsten
    {0.12f, 0.18f},  // hook
    {0.10f, 0.25f},  // loop: metal under polymer
    {0.08f, 0.55f},  // thread: matt ribbon
    {0.07f, 0.50f},  // cartridge
};

/// The parts of a row's description that do not depend on the row.
BarRow describe(const Bar& bar) {
  BarRow line{};
  line.alongStep = static_cast<float>(bar.ux);
  line.acrossStep = static_cast<float>(-bar.uy);
  line.startStep = static_cast<float>(bar.start.nx);
  line.endStep = static_cast<float>(bar.end.nx);
  line.inverseLength = static_cast<float>(bar.length > 0 ? 1 / bar.length : 0);
  line.halfWidth = static_cast<float>(bar.radius0);
  line.halfWidthSlope = static_cast<float>(bar.radius1 - bar.radius0);
  line.edgeFactor =
      static_cast<float>(bar.length > 1 ? bar.length / std::hypot(bar.length, bar.radius1 - bar.radius0) : 1);
  line.defocus = static_cast<float>(bar.defocus0);
  line.defocusSlope = static_cast<float>(bar.defocus1 - bar.defocus0);
  line.reflectance = static_cast<float>(bar.reflectance);
  const Gloss& gloss = kGloss[static_cast<std::size_t>(bar.kind)];
  line.highlight = gloss.brightness;
  line.highlightWidth = gloss.width;
  return line;
}

double insideLine(const BarEnd& end, int x, int y) { return end.nx * x + end.ny * y + end.offset; }

/// Columns that the bar can touch on row y. Cut into pieces, because the band has a waist where the bar is in
/// focus.
bool columnsOf(const Bar& bar, double y, double& left, double& right) {
  left = 1e9;
  right = -1e9;
  const double before = std::max(bar.start.zone, bar.band.front());
  const double after = std::max(bar.end.zone, bar.band.back());
  const int step = bar.length > 64 ? 1 : Bar::kPieces;
  for (int piece = 0; piece < Bar::kPieces; piece += step) {
    const int next = piece + step;
    const double t0 = piece == 0 ? -before : piece * bar.length / Bar::kPieces;
    const double t1 = next == Bar::kPieces ? bar.length + after : next * bar.length / Bar::kPieces;
    // sigma is convex along the bar, so the chord between two places is never too narrow.
    const double h0 = bar.band[static_cast<std::size_t>(piece)],
                 h1 = bar.band[static_cast<std::size_t>(next)];
    const double corners[4][2] = {{t0, -h0}, {t1, -h1}, {t1, h1}, {t0, h0}};
    double px = 0, py = 0;
    for (int k = 0; k <= 4; ++k) {
      const double* c = corners[k % 4];
      const double cx = bar.x + bar.ux * c[0] - bar.uy * c[1];
      const double cy = bar.y + bar.uy * c[0] + bar.ux * c[1];
      if (k > 0 && std::min(py, cy) <= y && y <= std::max(py, cy)) {
        const double at = cy == py ? px : px + (y - py) / (cy - py) * (cx - px);
        left = std::min({left, at, cy == py ? cx : at});
        right = std::max({right, at, cy == py ? cx : at});
      }
      px = cx;
      py = cy;
    }
  }
  return left <= right;
}

}  // namespace

BodyPainter::BodyPainter(ImageModel model)
    : model_(model),
      reach_(static_cast<double>(model == ImageModel::kDisc ? DiscEdge::kReach : GaussianEdge::kReach)) {}

void BodyPainter::prepare(const std::vector<Segment>& segments, const View& view, const Vec3& surfacePoint,
                          const Vec3& surfaceNormal, double dofM) {
  bars_ = makeBars(segments, view, surfacePoint, surfaceNormal, dofM, reach_);
  orderByDepth(bars_.bars);
  taken_.assign(bars_.chains * kSensorSize, 0);
  touched_.assign(bars_.chains, 0);
}

void BodyPainter::row(int y, int x, int count, float* reflectance) {
  for (const Bar& bar : bars_.bars) {
    if (y >= bar.top && y <= bar.bottom) drawBar(bar, y, x, count, reflectance);
  }
  for (std::size_t chain = 0; chain < bars_.chains; ++chain) {
    if (touched_[chain] == 0) continue;
    std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(chain * kSensorSize), count, 0.0f);
    touched_[chain] = 0;
  }
}

void BodyPainter::drawBar(const Bar& bar, int y, int x, int count, float* reflectance) {
  double left, right;
  if (!columnsOf(bar, y, left, right)) return;
  const int from = static_cast<int>(std::max<double>(x, std::floor(left)));
  const int to = static_cast<int>(std::min<double>(x + count, std::ceil(right) + 1));
  if (from >= to) return;

  // Where along the row the shape of an end begins or ceases to matter, another kernel takes over.
  double borders[2];
  int borderCount = 0;
  for (const BarEnd* end : {&bar.start, &bar.end}) {
    if (std::abs(end->nx) > 1e-9) borders[borderCount++] = (end->zone - end->ny * y - end->offset) / end->nx;
  }
  if (borderCount == 2 && borders[0] > borders[1]) std::swap(borders[0], borders[1]);
  BarRow line = describe(bar);
  const double dy = y - bar.y;
  int begin = from;
  for (int piece = 0; piece <= borderCount; ++piece) {
    const double border = piece == borderCount ? to : std::ceil(borders[piece]);
    const int stop = static_cast<int>(std::clamp<double>(border, from, to));
    if (stop <= begin) continue;
    const double dx = begin - bar.x;
    line.along0 = static_cast<float>(dx * bar.ux + dy * bar.uy);
    line.across0 = static_cast<float>(-dx * bar.uy + dy * bar.ux);
    line.start0 = static_cast<float>(insideLine(bar.start, begin, y));
    line.end0 = static_cast<float>(insideLine(bar.end, begin, y));
    const int width = stop - begin;
    drawPiece(bar, line, begin + width / 2, y, width);
    float* taken = nullptr;
    if (bar.chain != Bar::kAlone) {
      taken = taken_.data() + bar.chain * kSensorSize + (begin - x);
      touched_[bar.chain] = 1;
    }
    composite(reflectance + (begin - x), taken, coverage_.data(), light_.data(), width);
    begin = stop;
  }
}

/// Coverage and light of one stretch of a row, with the kernel that suits what is near at `column`, inside
/// it.
void BodyPainter::drawPiece(const Bar& bar, const BarRow& line, int column, int y, int width) {
  const bool atStart = insideLine(bar.start, column, y) < bar.start.zone;
  const bool atEnd = insideLine(bar.end, column, y) < bar.end.zone;
  const bool nearStart = atStart && !bar.start.joint, nearEnd = atEnd && !bar.end.joint;
  float* coverage = coverage_.data();
  float* light = light_.data();
  if (!atStart && !atEnd) {
    barMiddle(line, model_, coverage, light, width);
    return;
  }
  if (!nearStart && !nearEnd) {
    barBody(line, model_, coverage, light, width);
    return;
  }
  const BarEnd& end = nearEnd ? bar.end : bar.start;
  if (end.sharp && nearStart != nearEnd) {
    const SharpEnd sharp{nearEnd, static_cast<float>(end.radius), static_cast<float>(end.slope),
                         static_cast<float>(end.bulge)};
    (end.cut ? barCut : barRound)(line, model_, sharp, coverage, light, width);
    return;
  }
  barStrips(line, model_, bar.start.reach.data(), bar.end.reach.data(), kStrips, coverage, light, width);
}

}  // namespace surgiclaw::optics
