// Prints how long the geometry takes on a full frame; asserts nothing, since the machine may be busy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include "surgiclaw/geometry/image_metrics.h"
#include "surgiclaw/geometry/needle.h"
#include "surgiclaw/geometry/patch_match.h"
#include "surgiclaw/geometry/ring.h"
#include "surgiclaw/geometry/sites.h"
#include "synthetic.h"

namespace surgiclaw::geometry {
namespace {

using namespace synthetic;  // NOLINT: the whole file is about synthetic frames.

// Processor time of this thread: on a busy machine the clock on the wall says little.
double threadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void time(const char* name, int runs, const std::function<void()>& work) {
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    const double start = threadMs();
    work();
    ms.push_back(threadMs() - start);
  }
  std::sort(ms.begin(), ms.end());
  std::printf("%-36s median %7.2f ms, p95 %7.2f ms\n", name, ms[ms.size() / 2], ms[ms.size() * 95 / 100]);
}

TEST(Timings, FullFrame) {
  Canvas canvas(2048, 2048, 120);
  addTexture(canvas, 1, {{6, 0.05}, {24, 0.05}, {300, 0.1}});
  for (uint64_t v = 0; v < 3; ++v) {
    const auto k = static_cast<double>(v);
    drawBand(canvas, wanderingPath(v, 500 + k * 400, 100, 1.0 + 0.3 * k, 2500, 0.12), 40 + 20 * k, 9, 70,
             0.8);
  }
  NeedleShape shape;
  shape.angleRad = 0.1;
  shape.barb = true;
  drawNeedle(canvas, shape);
  const Frame frame = expose(canvas, 3);
  const ImageView view = frame.view();

  time("measureImage, 2048 x 2048", 30, [&] { measureImage(view); });
  NeedleEstimate needle;
  time("findNeedle, 2048 x 2048", 30, [&] { needle = findNeedle(view); });
  EXPECT_TRUE(needle.found) << needle.reason;
  time("trackNeedle", 30, [&] { trackNeedle(view, needle); });
  const Patch patch = cutPatch(view, 700, 1300, 128, 128);
  time("matchPatch, 128 px, radius 40", 20, [&] { matchPatch(view, patch.view(), 705, 1296, 40); });
  time("matchPatch, 128 px, radius 500", 8, [&] { matchPatch(view, patch.view(), 800, 1200, 500); });
  const RingModel ring = {{5.9, 1.96}, {0, 17.5}, 4.27, {0.866, -0.287}, 25.6};
  time("findRing, radius 100", 8, [&] { findRing(view, 1200, 1400, 100, ring); });
  time("findRing, radius 600", 4, [&] { findRing(view, 1000, 1100, 600, ring); });
  time("findSites, 2048 x 2048", 4, [&] { findSites(view, {}); });
}

}  // namespace
}  // namespace surgiclaw::geometry
