#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bar.h"

namespace surgiclaw::optics {
namespace {

double meanDepth(const Bar& bar) { return 0.5 * (bar.depth0 + bar.depth1); }

/// Sharp outline of a bar with a little margin; what is only blur needs no exact order.
struct Box {
  double left, right, top, bottom;
};
Box outline(const Bar& bar) {
  const double x1 = bar.x + bar.ux * bar.length, y1 = bar.y + bar.uy * bar.length;
  const double margin = std::max(bar.radius0, bar.radius1) + 2 * std::max(bar.sigmaAt(0), bar.sigmaAt(1));
  return {std::min(bar.x, x1) - margin, std::max(bar.x, x1) + margin, std::min(bar.y, y1) - margin,
          std::max(bar.y, y1) + margin};
}

/// Fractions along the axes of two bars where these come nearest one another in the image.
void nearest(const Bar& a, const Bar& b, double& s, double& t) {
  // Closest points of two line segments in the plane: minimise over s, clamp, minimise over t, clamp, once
  // more over s.
  const double rx = a.x - b.x, ry = a.y - b.y;
  const double along = a.ux * b.ux + a.uy * b.uy;
  const double aOffset = a.ux * rx + a.uy * ry, bOffset = b.ux * rx + b.uy * ry;
  const double denominator = 1 - along * along;
  double sPx = denominator > 1e-9 ? (along * bOffset - aOffset) / denominator : 0.5 * a.length;
  sPx = std::clamp(sPx, 0.0, a.length);
  const double tPx = std::clamp(along * sPx + bOffset, 0.0, b.length);
  sPx = std::clamp(along * tPx - aOffset, 0.0, a.length);
  s = a.length > 0 ? sPx / a.length : 0;
  t = b.length > 0 ? tPx / b.length : 0;
}

}  // namespace

void orderByDepth(std::vector<Bar>& bars) {
  std::stable_sort(bars.begin(), bars.end(),
                   [](const Bar& a, const Bar& b) { return meanDepth(a) > meanDepth(b); });
  const std::size_t count = bars.size();
  std::vector<Box> boxes;
  boxes.reserve(count);
  for (const Bar& bar : bars) boxes.push_back(outline(bar));

  // behind[i] lists what has to be drawn after i; waiting[j] counts what has to be drawn before j.
  std::vector<std::vector<std::uint16_t>> behind(count);
  std::vector<std::size_t> waiting(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const Box &p = boxes[i], &q = boxes[j];
      if (p.left > q.right || q.left > p.right || p.top > q.bottom || q.top > p.bottom) continue;
      // Parts of one body lie beside one another and cover each other nowhere.
      if (bars[i].chain != Bar::kAlone && bars[i].chain == bars[j].chain) continue;
      double s, t;
      nearest(bars[i], bars[j], s, t);
      const double depthI = bars[i].depth0 + s * (bars[i].depth1 - bars[i].depth0);
      const double depthJ = bars[j].depth0 + t * (bars[j].depth1 - bars[j].depth0);
      const bool inOrder = depthI >= depthJ;
      behind[inOrder ? i : j].push_back(static_cast<std::uint16_t>(inOrder ? j : i));
      ++waiting[inOrder ? j : i];
    }
  }

  // Always the first by mean depth that waits for nothing; should bodies entangle in a circle, the first at
  // all.
  std::vector<Bar> ordered;
  ordered.reserve(count);
  std::vector<bool> done(count, false);
  while (ordered.size() < count) {
    std::size_t next = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (done[i]) continue;
      if (waiting[i] == 0) {
        next = i;
        break;
      }
      if (next == count) next = i;
    }
    done[next] = true;
    ordered.push_back(bars[next]);
    for (const std::uint16_t j : behind[next]) {
      if (waiting[j] > 0) --waiting[j];
    }
  }
  bars = std::move(ordered);
}

}  // namespace surgiclaw::optics
