#include "bar_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sampling.h"
#include "vector_targets.h"

namespace surgiclaw::geometry {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kDegree = kPi / 180;
constexpr int kSpread = 2;  // A gradient votes for this many degrees to either side of its own direction.
constexpr double kBinsPerPx = 2.0;  // Radius bins per reduced pixel.

// Arc tangent of y/x for |y| ≤ x, error below 0.1°: the bins are 1° wide.
float smallArcTangent(float ratio) {
  return ratio * (1.0f - 0.2146f * (std::abs(ratio) - 1.0f)) * 0.78539816f;
}

// Angle of (y, x) in (−π, π].
float fastAtan2(float y, float x) {
  const float ax = std::abs(x);
  const float ay = std::abs(y);
  if (ax == 0 && ay == 0) return 0;
  float angle = ay <= ax ? smallArcTangent(ay / ax) : 1.57079633f - smallArcTangent(ax / ay);
  if (x < 0) angle = 3.14159265f - angle;
  return y < 0 ? -angle : angle;
}

// Votes of gradients for directed edges: [side][angle][radius]. A bar with normal n = (cos φ, −sin φ) has a
// left edge that darkens along n and a right edge that brightens.
struct Votes {
  int angles = 0;
  int radii = 0;
  double firstAngle = 0;  // rad
  double centreX = 0;
  double centreY = 0;
  std::vector<float> left;
  std::vector<float> right;
  std::vector<float> cosines;
  std::vector<float> sines;

  double angle(int a) const { return firstAngle + a * kDegree; }
  double radius(double bin) const { return (bin - 0.5 * radii) / kBinsPerPx; }
};

struct Peak {
  int angle = 0;
  double radius = 0;  // Of the bar's axis, reduced px.
  double width = 0;   // Reduced px.
  float score = 0;
};

// Sobel slopes in grey levels per reduced pixel.
struct Slopes {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<float> square;
};

SURGICLAW_VECTOR_TARGETS
void slopesOfRow(const uint16_t* above, const uint16_t* here, const uint16_t* below, int width, float toGrey,
                 float* gx, float* gy, float* square) {
  for (int x = 1; x + 1 < width; ++x) {
    const int right = above[x + 1] + 2 * here[x + 1] + below[x + 1];
    const int left = above[x - 1] + 2 * here[x - 1] + below[x - 1];
    const int down = below[x - 1] + 2 * below[x] + below[x + 1];
    const int up = above[x - 1] + 2 * above[x] + above[x + 1];
    gx[x] = static_cast<float>(right - left) * toGrey;
    gy[x] = static_cast<float>(down - up) * toGrey;
    square[x] = gx[x] * gx[x] + gy[x] * gy[x];
  }
}

void measureSlopes(const Reduced& image, Slopes& slopes) {
  const size_t cells = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  slopes.x.assign(cells, 0.0f);
  slopes.y.assign(cells, 0.0f);
  slopes.square.assign(cells, 0.0f);
  const auto toGrey = static_cast<float>(1.0 / (8.0 * image.scale));
  for (int y = 1; y + 1 < image.height; ++y) {
    const size_t row = static_cast<size_t>(y) * static_cast<size_t>(image.width);
    slopesOfRow(image.row(y - 1), image.row(y), image.row(y + 1), image.width, toGrey, slopes.x.data() + row,
                slopes.y.data() + row, slopes.square.data() + row);
  }
}

// The value below which a share of the field lies, from every seventh value.
float shareOf(const std::vector<float>& field, double share) {
  thread_local std::vector<float> some;
  some.clear();
  for (size_t i = 0; i < field.size(); i += 7) some.push_back(field[i]);
  if (some.empty()) return 0;
  const auto at = some.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(some.size() - 1));
  std::nth_element(some.begin(), at, some.end());
  return *at;
}

void castVotes(const Reduced& image, const BarSearchOptions& options, Votes& votes) {
  const int halfAngles = static_cast<int>(std::ceil(options.angleRangeRad / kDegree));
  votes.angles = 2 * halfAngles + 1;
  votes.firstAngle = options.centreAngleRad - halfAngles * kDegree;
  votes.centreX = 0.5 * (image.width - 1);
  votes.centreY = 0.5 * (image.height - 1);
  votes.radii =
      2 * (static_cast<int>(std::ceil(kBinsPerPx * 0.5 * std::hypot(image.width, image.height))) + 4);
  const auto cells = static_cast<size_t>(votes.angles) * votes.radii;
  votes.left.assign(cells, 0.0f);
  votes.right.assign(cells, 0.0f);
  votes.cosines.resize(static_cast<size_t>(votes.angles));
  votes.sines.resize(static_cast<size_t>(votes.angles));
  for (int a = 0; a < votes.angles; ++a) {
    votes.cosines[static_cast<size_t>(a)] = static_cast<float>(kBinsPerPx * std::cos(votes.angle(a)));
    votes.sines[static_cast<size_t>(a)] = static_cast<float>(kBinsPerPx * std::sin(votes.angle(a)));
  }

  thread_local Slopes slopes;
  measureSlopes(image, slopes);
  // Over a bar of at least the wanted contrast, blurred until it is barely a bar, the slope is above the
  // first bound; in a busy picture the steepest third votes.
  const float weakest = static_cast<float>(options.minContrast) / 10.0f;
  const float threshold = std::max(weakest * weakest, shareOf(slopes.square, 0.67));
  constexpr float kCap = 40.0f;  // One glint must not outvote a bar.
  constexpr auto kPerDegree = static_cast<float>(1 / kDegree);
  const float halfBins = 0.5f * static_cast<float>(votes.radii) + 0.5f;
  const auto limit = static_cast<float>(halfAngles + kSpread);
  const auto middle = static_cast<float>(options.centreAngleRad / kDegree);
  for (int y = 1; y + 1 < image.height; ++y) {
    const auto py = static_cast<float>(y - votes.centreY);
    const size_t row = static_cast<size_t>(y) * static_cast<size_t>(image.width);
    for (int x = 1; x + 1 < image.width; ++x) {
      const float square = slopes.square[row + static_cast<size_t>(x)];
      if (square < threshold) continue;
      // The right edge's normal: φ = atan2(−gy, gx). Turned by π it is a left edge of the opposite direction.
      float offset =
          fastAtan2(-slopes.y[row + static_cast<size_t>(x)], slopes.x[row + static_cast<size_t>(x)]) *
              kPerDegree -
          middle;
      if (offset > 180) offset -= 360;
      if (offset < -180) offset += 360;
      bool right = true;
      if (offset > 90) {
        offset -= 180;
        right = false;
      } else if (offset < -90) {
        offset += 180;
        right = false;
      }
      if (std::abs(offset) > limit) continue;
      const float size = std::min(std::sqrt(square), kCap);
      const int nearest = static_cast<int>(offset + static_cast<float>(halfAngles) + 1000.5f) - 1000;
      const int from = std::max(0, nearest - kSpread);
      const int to = std::min(votes.angles - 1, nearest + kSpread);
      const auto px = static_cast<float>(x - votes.centreX);
      float* table = right ? votes.right.data() : votes.left.data();
      for (int a = from; a <= to; ++a) {
        const float bin =
            px * votes.cosines[static_cast<size_t>(a)] - py * votes.sines[static_cast<size_t>(a)] + halfBins;
        table[static_cast<ptrdiff_t>(a) * votes.radii + static_cast<int>(bin)] += size;
      }
    }
  }
  // A little smoothing over the radius: an edge's votes fall into neighbouring bins.
  for (std::vector<float>* table : {&votes.left, &votes.right}) {
    for (int a = 0; a < votes.angles; ++a) {
      float* row = table->data() + static_cast<ptrdiff_t>(a) * votes.radii;
      float before = 0;
      for (int r = 0; r + 1 < votes.radii; ++r) {
        const float now = row[r];
        row[r] = before + 2 * now + row[r + 1];
        before = now;
      }
    }
  }
}

// The best pair of edges per angle and left edge becomes a peak; overlapping weaker ones are dropped.
void findPeaks(const Votes& votes, const BarSearchOptions& options, int factor, std::vector<Peak>& peaks) {
  thread_local std::vector<Peak> all;
  all.clear();
  const int minBins = std::max(2, static_cast<int>(options.minWidthPx / factor * kBinsPerPx) - 1);
  const int maxBins = static_cast<int>(std::ceil(options.maxWidthPx / factor * kBinsPerPx));
  // No pair can beat the weaker of the two strongest edges; most of the table is far below.
  const float bound = std::min(*std::max_element(votes.left.begin(), votes.left.end()),
                               *std::max_element(votes.right.begin(), votes.right.end()));
  float strongest = 0.25f * bound;
  for (int a = 0; a < votes.angles; ++a) {
    const float* left = votes.left.data() + static_cast<ptrdiff_t>(a) * votes.radii;
    const float* right = votes.right.data() + static_cast<ptrdiff_t>(a) * votes.radii;
    for (int l = 1; l + 1 < votes.radii; ++l) {
      if (left[l] < 0.3f * strongest || left[l] < left[l - 1] || left[l] < left[l + 1]) continue;
      Peak best;
      const int last = std::min(votes.radii - 2, l + maxBins);
      for (int r = l + minBins; r <= last; ++r) {
        const float score = std::min(left[l], right[r]);
        if (score > best.score) {
          best.score = score;
          best.angle = a;
          best.radius = votes.radius(0.5 * (l + r));
          best.width = (r - l) / kBinsPerPx;
        }
      }
      if (best.score > 0.3f * strongest) all.push_back(best);
      strongest = std::max(strongest, best.score);
    }
  }
  std::sort(all.begin(), all.end(), [](const Peak& p, const Peak& q) { return p.score > q.score; });
  peaks.clear();
  for (const Peak& peak : all) {
    if (static_cast<int>(peaks.size()) >= options.maxCandidates || peak.score < 0.3f * strongest) break;
    const bool known = std::any_of(peaks.begin(), peaks.end(), [&](const Peak& other) {
      return std::abs(other.angle - peak.angle) <= 5 &&
             std::abs(other.radius - peak.radius) < 0.5 * other.width + 2;
    });
    if (!known) peaks.push_back(peak);
  }
}

// One step along a candidate: where across it the bar lies, and how dark.
struct Slice {
  double s = 0;  // Along the candidate, downwards, quarter px.
  double centre = 0;
  double response = 0;
  double wide =
      0;  // The same on the line itself, against flanks so far out that a strongly blurred bar shows.
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
      // Only what lies on the line counts.
      const Slice& slice = slices[static_cast<size_t>(k)];
      sum += std::abs(slice.centre) <= 1.6 ? slice.response : std::min(0.0, slice.response);
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
  if (eighth.width < 12 || eighth.height < 12) return;
  thread_local Votes votes;
  thread_local std::vector<Peak> peaks;
  castVotes(eighth, options, votes);
  findPeaks(votes, options, eighth.factor, peaks);
  for (const Peak& peak : peaks) {
    const double angle = votes.angle(peak.angle);
    // A point of the bar's axis in reduced pixels: centre + radius · n.
    const double x = eighth.frameX(votes.centreX + peak.radius * std::cos(angle));
    const double y = eighth.frameY(votes.centreY - peak.radius * std::sin(angle));
    Bar bar;
    if (!followPeak(quarter, options, quarter.reducedX(x), quarter.reducedY(y), angle, peak.width * 2, bar))
      continue;
    if (bar.lengthPx < options.minLengthPx || bar.contrast < 0.5 * options.minContrast) continue;
    bars.push_back(bar);
  }
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.weight > b.weight; });
}

}  // namespace surgiclaw::geometry
