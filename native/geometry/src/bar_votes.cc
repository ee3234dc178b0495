#include "bar_votes.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

void voteForBars(const Reduced& image, const BarSearchOptions& options, std::vector<BarPeak>& peaks) {
  peaks.clear();
  if (image.width < 12 || image.height < 12) return;
  thread_local Votes votes;
  thread_local std::vector<Peak> found;
  castVotes(image, options, votes);
  findPeaks(votes, options, image.factor, found);
  for (const Peak& peak : found) {
    // The axis is centre + radius · n.
    const double angle = votes.angle(peak.angle);
    peaks.push_back({angle, votes.centreX + peak.radius * std::cos(angle),
                     votes.centreY - peak.radius * std::sin(angle), peak.width});
  }
}

}  // namespace surgiclaw::geometry
