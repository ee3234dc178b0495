#include "bar_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bar_votes.h"
#include "sampling.h"

namespace surgiclaw::geometry {
namespace {

// One step along a candidate: where across it the bar lies, and how dark.
struct Slice {
  double s = 0;  // Along the candidate, downwards, quarter px.
  double centre = 0;
  double response = 0;
  double onLine = 0;  // The response on the line itself, give or take a pixel.
  double wide = 0;    // On the line, too, against flanks so far out that a strongly blurred bar shows.
};

// Walks along the line through (x, y) and looks for the bar within ±range across it. Quarter px.
void walk(const Reduced& image, double x, double y, double dx, double dy, double width, double range,
          double stride, std::vector<Slice>& slices) {
  // Clip the line to the image.
  double from = -1e9;
  double to = 1e9;
  const auto clip = [&](double position, double step, double size) {
    if (std::abs(step) < 1e-9) return;
    const double a = (0 - position) / step;
    const double b = (size - 1 - position) / step;
    from = std::max(from, std::min(a, b));
    to = std::min(to, std::max(a, b));
  };
  clip(x, dx, image.width);
  clip(y, dy, image.height);
  slices.clear();
  if (!(to - from > 4)) return;

  const double nx = dy;
  const double ny = -dx;
  constexpr double kOuter = 4.5;  // Width of each flank, quarter px.
  constexpr double kGap = 1.0;
  constexpr int kMax = 128;
  constexpr double kFar = 10;  // Beyond the edge, quarter px.
  const double reach = 0.5 * width + std::max(kGap + kOuter + range + 1, kFar + 1);
  const int half = std::min(kMax / 2 - 1, static_cast<int>(std::ceil(reach)));
  const int inner = std::max(1, static_cast<int>(std::lround(0.5 * width * 0.55)));
  const int flankFrom = static_cast<int>(std::lround(0.5 * width + kGap));
  const int flankTo = flankFrom + static_cast<int>(kOuter);
  const int shift = std::max(1, static_cast<int>(std::floor(range)));
  const auto toGrey = static_cast<float>(1 / image.scale);
  std::array<float, kMax + 1> sums{};
  for (double s = from; s <= to; s += stride) {
    const double cx = x + s * dx;
    const double cy = y + s * dy;
    sums[0] = 0;
    for (int t = -half; t <= half; ++t) {
      const float value = bilinearClamped(image.pixels.data(), image.width, image.width, image.height,
                                          cx + t * nx, cy + t * ny);
      sums[static_cast<size_t>(t + half + 1)] = sums[static_cast<size_t>(t + half)] + value * toGrey;
    }
    const auto mean = [&](int a, int b) {  // Of t = a … b, kept inside the profile.
      a = std::clamp(a, -half, half);
      b = std::clamp(b, a, half);
      return (sums[static_cast<size_t>(b + half + 1)] - sums[static_cast<size_t>(a + half)]) /
             static_cast<float>(b - a + 1);
    };
    Slice slice;
    slice.s = s;
    slice.response = -1e9;
    std::array<double, 65> responses{};
    for (int c = -shift; c <= shift; ++c) {
      const double core = mean(c - inner, c + inner);
      const double flankL = mean(c - flankTo, c - flankFrom);
      const double flankR = mean(c + flankFrom, c + flankTo);
      const double response = std::min(flankL, flankR) - core;
      responses[static_cast<size_t>(c + shift)] = response;
      if (response > slice.response) {
        slice.response = response;
        slice.centre = c;
      }
    }
    const auto middle = responses.begin() + shift;
    slice.onLine = *std::max_element(middle - 1, middle + 2);
    const auto at = static_cast<size_t>(slice.centre + shift);
    if (at > 0 && static_cast<int>(at) < 2 * shift) {
      const double below = responses[at - 1];
      const double above = responses[at + 1];
      const double curvature = below - 2 * slice.response + above;
      if (curvature < -1e-9) slice.centre += 0.5 * (below - above) / curvature;
    }
    const int far = static_cast<int>(0.5 * width + kFar);
    slice.wide = 0.5 * static_cast<double>(mean(-far, -far + 4) + mean(far - 4, far) - 2 * mean(-1, 1));
    slices.push_back(slice);
  }
}

// Robust line centre = a + b·s through slices with enough response. Deterministic consensus, then least
// squares.
bool fitLine(const std::vector<Slice>& slices, double minResponse, double tolerance, double& a, double& b) {
  thread_local std::vector<const Slice*> good;
  good.clear();
  for (const Slice& slice : slices) {
    if (slice.response >= minResponse) good.push_back(&slice);
  }
  if (good.size() < 12) return false;
  uint32_t random = 12345;
  const auto pick = [&] {
    random = random * 1664525u + 1013904223u;
    return static_cast<size_t>((static_cast<uint64_t>(random) * good.size()) >> 32);
  };
  double bestScore = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Slice& p = *good[pick()];
    const Slice& q = *good[pick()];
    if (std::abs(p.s - q.s) < 10) continue;
    const double slope = (q.centre - p.centre) / (q.s - p.s);
    const double offset = p.centre - slope * p.s;
    double score = 0;
    for (const Slice* slice : good) {
      if (std::abs(slice->centre - offset - slope * slice->s) < tolerance) score += slice->response;
    }
    if (score > bestScore) {
      bestScore = score;
      a = offset;
      b = slope;
    }
  }
  if (!(bestScore > 0)) return false;
  for (int pass = 0; pass < 2; ++pass) {
    double w = 0, ws = 0, wc = 0, wss = 0, wsc = 0;
    for (const Slice* slice : good) {
      if (std::abs(slice->centre - a - b * slice->s) >= tolerance) continue;
      w += slice->response;
      ws += slice->response * slice->s;
      wc += slice->response * slice->centre;
      wss += slice->response * slice->s * slice->s;
      wsc += slice->response * slice->s * slice->centre;
    }
    const double determinant = w * wss - ws * ws;
    if (!(determinant > 1e-9)) return false;
    b = (w * wsc - ws * wc) / determinant;
    a = (wc - b * ws) / w;
  }
  return true;
}

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

// Follows a peak on the quarter image: straightens it, finds its ends.
bool followPeak(const Reduced& image, const BarSearchOptions& options, double x, double y, double angle,
                double width, Bar& bar) {
  thread_local std::vector<Slice> slices;
  thread_local std::vector<double> values;
  double dx = std::sin(angle);
  double dy = std::cos(angle);
  double range = 5;
  for (int pass = 0; pass < 3; ++pass) {
    // Every third row does for the line; the ends need them all.
    walk(image, x, y, dx, dy, width, range, pass < 2 ? 3 : 1, slices);
    if (slices.size() < 12) return false;
    if (pass == 2) break;
    values.clear();
    for (const Slice& slice : slices) values.push_back(slice.response);
    const double strong = quantile(values, 0.9);
    double a = 0;
    double b = 0;
    if (!fitLine(slices, std::max(0.3 * strong, 0.4 * options.minContrast), pass == 0 ? 1.8 : 1.2, a, b))
      return false;
    x += a * dy;
    y -= a * dx;
    const double turned = std::atan2(dx, dy) + std::atan(b);
    dx = std::sin(turned);
    dy = std::cos(turned);
    range = 2;
  }

  // Response along the bar, smoothed over five slices (20 px): texture does not reach a bar's contrast over
  // that.
  const int count = static_cast<int>(slices.size());
  thread_local std::vector<double> smooth;
  smooth.assign(static_cast<size_t>(count), 0.0);
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    int n = 0;
    for (int k = std::max(0, i - 2); k <= std::min(count - 1, i + 2); ++k, ++n) {
      // Only what lies on the line counts. Beside something dark the response is greatest off the line.
      const Slice& slice = slices[static_cast<size_t>(k)];
      sum += std::abs(slice.centre) <= 1.6 ? slice.response : slice.onLine;
    }
    smooth[static_cast<size_t>(i)] = sum / n;
  }
  values.assign(smooth.begin(), smooth.end());
  const double strong = quantile(values, 0.9);
  const double present = std::max(0.12 * strong, 0.3 * options.minContrast);

  // Runs of presence; short gaps (glare, dust) do not end one, the longest run wins.
  constexpr int kGap = 15;
  int bestFrom = -1;
  int bestTo = -1;
  double bestSum = 0;
  int from = -1;
  int last = -1;
  double sum = 0;
  for (int i = 0; i <= count; ++i) {
    const bool here = i < count && smooth[static_cast<size_t>(i)] > present;
    if (here) {
      if (from < 0 || i - last > kGap) {
        if (from >= 0 && sum > bestSum) {
          bestSum = sum;
          bestFrom = from;
          bestTo = last;
        }
        from = i;
        sum = 0;
      }
      last = i;
      sum += smooth[static_cast<size_t>(i)];
    }
  }
  if (from >= 0 && sum > bestSum) {
    bestSum = sum;
    bestFrom = from;
    bestTo = last;
  }
  if (bestFrom < 0) return false;

  // The lower end is where the response falls to half of what it is above: texture below may prolong the run.
  // Of all places the one with the greatest step from the 60 px above to the 60 px below.
  constexpr int kStepLength = 15;
  thread_local std::vector<double> sums;
  sums.assign(static_cast<size_t>(count) + 1, 0.0);
  for (int i = 0; i < count; ++i) {
    sums[static_cast<size_t>(i) + 1] =
        sums[static_cast<size_t>(i)] + std::max(0.0, smooth[static_cast<size_t>(i)]);
  }
  const auto meanOf = [&](int a, int b) {
    a = std::clamp(a, 0, count);
    b = std::clamp(b, 0, count);
    return b > a ? (sums[static_cast<size_t>(b)] - sums[static_cast<size_t>(a)]) / (b - a) : 0.0;
  };
  int end = bestTo;
  double bestStep = -1e9;
  for (int i = bestFrom + 6; i <= std::min(bestTo + 4, count); ++i) {
    const double above = meanOf(i - kStepLength, i);
    const double below = i < count ? meanOf(i, i + kStepLength) : above;
    if (above - below > bestStep) {
      bestStep = above - below;
      end = i;
    }
  }
  // A run that reaches the far border without a step that halves it has no tip in view.
  const double above = meanOf(end - kStepLength, end);
  const bool reachesFar = bestTo >= count - 8;
  const bool stepped = bestStep > 0.5 * above;
  if (reachesFar && !stepped) end = count - 1;
  if (!reachesFar && !stepped) end = bestTo;

  values.clear();
  int presentCount = 0;
  for (int i = bestFrom; i < end; ++i) {
    values.push_back(smooth[static_cast<size_t>(i)]);
    if (smooth[static_cast<size_t>(i)] > present) ++presentCount;
  }
  if (values.empty() || presentCount < static_cast<int>(0.7 * static_cast<double>(values.size())))
    return false;
  // Where a ribbon crosses behind or a vessel begins much of the contrast may go, but not all: the bar then
  // runs on, straight, to a lesser step after which nothing is left.
  int later = 0;
  double laterStep = 0;
  for (int i = end + kStepLength; i <= std::min(bestTo + 4, count); ++i) {
    const double above2 = meanOf(i - kStepLength, i);
    const double below = meanOf(i, i + kStepLength);
    if (above2 > present && below < 0.3 * above2 && above2 - below > laterStep) {
      laterStep = above2 - below;
      later = i;
    }
  }
  int onLine = 0;
  for (int i = end; i < later; ++i) {
    const Slice& slice = slices[static_cast<size_t>(i)];
    onLine += std::abs(slice.centre) <= 1.0 && slice.response > present ? 1 : 0;
  }
  bar.laterEndPx = later > 0 && onLine > 0.8 * (later - end) ? 4.0 * (later - end) : 0;

  bar.contrast = quantile(values, 0.5);
  bar.lengthPx = 4.0 * (end - bestFrom);
  bar.weight = 0;
  for (int i = bestFrom; i < end; ++i) bar.weight += 4 * std::max(0.0, smooth[static_cast<size_t>(i)]);
  bar.directionX = dx;
  bar.directionY = dy;
  bar.widthPx = 4 * width;
  const double s = slices[static_cast<size_t>(std::min(end, count - 1))].s;
  bar.tipX = image.frameX(x + s * dx);
  bar.tipY = image.frameY(y + s * dy);
  bar.fromBorder = bestFrom <= 12;
  if (!bar.fromBorder) {
    // Towards the border a shank may blur away. An end of the bar would show as nothing there, or as its
    // opposite.
    double sum2 = 0;
    int dark = 0;
    for (int i = 0; i < bestFrom; ++i) {
      const double wide = slices[static_cast<size_t>(i)].wide;
      sum2 += wide;
      dark += wide > 0 ? 1 : 0;
    }
    bar.fromBorder = sum2 > 0.12 * strong * bestFrom && dark > 0.8 * bestFrom;
  }
  bar.tipInside = end <= count - 4;
  return true;
}

}  // namespace

void findBars(const Reduced& quarter, const Reduced& eighth, const BarSearchOptions& options,
              std::vector<Bar>& bars) {
  bars.clear();
  thread_local std::vector<BarPeak> peaks;
  voteForBars(eighth, options, peaks);
  for (const BarPeak& peak : peaks) {
    const double x = quarter.reducedX(eighth.frameX(peak.x));
    const double y = quarter.reducedY(eighth.frameY(peak.y));
    Bar bar;
    if (!followPeak(quarter, options, x, y, peak.angleRad, 2 * peak.width, bar)) continue;
    if (bar.lengthPx < options.minLengthPx || bar.contrast < 0.5 * options.minContrast) continue;
    bars.push_back(bar);
  }
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.weight > b.weight; });
}

}  // namespace surgiclaw::geometry
