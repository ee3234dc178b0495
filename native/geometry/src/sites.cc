#include "surgiclaw/geometry/sites.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reduce.h"

namespace surgiclaw::geometry {
namespace {

constexpr int kFactor = 4;
constexpr float kFar = 1e9f;

struct Field {
  int width = 0;
  int height = 0;
  std::vector<float> values;

  Field(int w, int h, float value = 0) : width(w), height(h), values(static_cast<size_t>(w) * h, value) {}
  float& at(int x, int y) { return values[static_cast<size_t>(y) * width + x]; }
  float at(int x, int y) const { return values[static_cast<size_t>(y) * width + x]; }
};

// Mean over a square of half side `radius`, cut at the border.
Field boxMean(const Field& in, int radius) {
  std::vector<double> integral(static_cast<size_t>(in.width + 1) * (in.height + 1), 0.0);
  const auto stride = static_cast<size_t>(in.width) + 1;
  for (int y = 0; y < in.height; ++y) {
    double row = 0;
    for (int x = 0; x < in.width; ++x) {
      row += static_cast<double>(in.at(x, y));
      integral[(static_cast<size_t>(y) + 1) * stride + x + 1] =
          integral[static_cast<size_t>(y) * stride + x + 1] + row;
    }
  }
  Field out(in.width, in.height);
  for (int y = 0; y < in.height; ++y) {
    const int y0 = std::max(0, y - radius);
    const int y1 = std::min(in.height, y + radius + 1);
    for (int x = 0; x < in.width; ++x) {
      const int x0 = std::max(0, x - radius);
      const int x1 = std::min(in.width, x + radius + 1);
      const double sum = integral[y1 * stride + x1] - integral[y0 * stride + x1] -
                         integral[y1 * stride + x0] + integral[y0 * stride + x0];
      out.at(x, y) = static_cast<float>(sum / ((y1 - y0) * (x1 - x0)));
    }
  }
  return out;
}

// Two passes of the box mean: close enough to a Gaussian.
Field smooth(const Field& in, int radius) { return radius > 0 ? boxMean(boxMean(in, radius), radius) : in; }

float median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Largest eigenvalue of the Hessian at a scale, times the scale squared: high on dark lines.
void addRidges(const Field& image, int step, Field& ridge) {
  const Field s = smooth(image, std::max(1, step / 2));
  for (int y = step; y + step < image.height; ++y) {
    for (int x = step; x + step < image.width; ++x) {
      const float xx = s.at(x - step, y) - 2 * s.at(x, y) + s.at(x + step, y);
      const float yy = s.at(x, y - step) - 2 * s.at(x, y) + s.at(x, y + step);
      const float xy = 0.25f * (s.at(x + step, y + step) - s.at(x - step, y + step) -
                                s.at(x + step, y - step) + s.at(x - step, y - step));
      const float half = 0.5f * (xx + yy);
      const float root = std::sqrt(0.25f * (xx - yy) * (xx - yy) + xy * xy);
      // A line is strongly curved one way and little the other way; a blob both ways: it counts as well.
      ridge.at(x, y) = std::max(ridge.at(x, y), half + root);
    }
  }
}

constexpr uint8_t kFaint = 1;   // Curved like a line, and somewhat dark.
constexpr uint8_t kStrong = 2;  // Dark or bright beyond what texture is.

// Keeps connected parts (8 neighbours) that are a structure, not a grain of texture: long ones, and smaller
// ones of which enough is strong (dust, marks). Extents in reduced px, areas in reduced px².
void dropSmall(std::vector<uint8_t>& mask, int width, int height, int minExtent, int minStrong) {
  std::vector<int> stack;
  std::vector<int> part;
  std::vector<uint8_t> seen(mask.size(), 0);
  for (int start = 0; start < width * height; ++start) {
    if (mask[static_cast<size_t>(start)] == 0 || seen[static_cast<size_t>(start)] != 0) continue;
    stack.assign(1, start);
    part.clear();
    seen[static_cast<size_t>(start)] = 1;
    int minX = width, maxX = 0, minY = height, maxY = 0, strong = 0;
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      part.push_back(at);
      strong += mask[static_cast<size_t>(at)] == kStrong ? 1 : 0;
      const int x = at % width;
      const int y = at / width;
      minX = std::min(minX, x);
      maxX = std::max(maxX, x);
      minY = std::min(minY, y);
      maxY = std::max(maxY, y);
      for (int j = std::max(0, y - 1); j <= std::min(height - 1, y + 1); ++j) {
        for (int i = std::max(0, x - 1); i <= std::min(width - 1, x + 1); ++i) {
          const int next = j * width + i;
          if (mask[static_cast<size_t>(next)] == 0 || seen[static_cast<size_t>(next)] != 0) continue;
          seen[static_cast<size_t>(next)] = 1;
          stack.push_back(next);
        }
      }
    }
    if (std::max(maxX - minX, maxY - minY) + 1 >= minExtent || strong >= minStrong) continue;
    for (const int at : part) mask[static_cast<size_t>(at)] = 0;
  }
}

// Lower envelope of parabolas along one line (Felzenszwalb & Huttenlocher 2012): exact squared distances.
void distanceLine(const std::vector<float>& in, std::vector<float>& out, std::vector<int>& v,
                  std::vector<float>& z) {
  const int n = static_cast<int>(in.size());
  int k = 0;
  v[0] = 0;
  z[0] = -std::numeric_limits<float>::infinity();
  z[1] = std::numeric_limits<float>::infinity();
  const auto cross = [&](int q, int p) {
    return ((in[static_cast<size_t>(q)] + static_cast<float>(q * q)) -
            (in[static_cast<size_t>(p)] + static_cast<float>(p * p))) /
           static_cast<float>(2 * (q - p));
  };
  for (int q = 1; q < n; ++q) {
    float s = cross(q, v[static_cast<size_t>(k)]);
    while (s <= z[static_cast<size_t>(k)]) {
      --k;
      s = cross(q, v[static_cast<size_t>(k)]);
    }
    ++k;
    v[static_cast<size_t>(k)] = q;
    z[static_cast<size_t>(k)] = s;
    z[static_cast<size_t>(k) + 1] = std::numeric_limits<float>::infinity();
  }
  k = 0;
  for (int q = 0; q < n; ++q) {
    while (z[static_cast<size_t>(k) + 1] < static_cast<float>(q)) ++k;
    const int p = v[static_cast<size_t>(k)];
    out[static_cast<size_t>(q)] = static_cast<float>((q - p) * (q - p)) + in[static_cast<size_t>(p)];
  }
}

Field distanceTo(const std::vector<uint8_t>& mask, int width, int height) {
  Field distance(width, height, kFar);
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) distance.values[i] = 0;
  }
  const int longest = std::max(width, height);
  std::vector<int> v(static_cast<size_t>(longest) + 1);
  std::vector<float> z(static_cast<size_t>(longest) + 2);
  std::vector<float> line(static_cast<size_t>(height));
  std::vector<float> result(static_cast<size_t>(height));
  for (int x = 0; x < width; ++x) {
    for (int y = 0; y < height; ++y) line[static_cast<size_t>(y)] = distance.at(x, y);
    distanceLine(line, result, v, z);
    for (int y = 0; y < height; ++y) distance.at(x, y) = result[static_cast<size_t>(y)];
  }
  line.resize(static_cast<size_t>(width));
  result.resize(static_cast<size_t>(width));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) line[static_cast<size_t>(x)] = distance.at(x, y);
    distanceLine(line, result, v, z);
    for (int x = 0; x < width; ++x) distance.at(x, y) = std::sqrt(result[static_cast<size_t>(x)]);
  }
  return distance;
}

}  // namespace

std::vector<SiteCandidate> findSites(const ImageView& image, const Roi& roi, const SiteOptions& options) {
  std::vector<SiteCandidate> sites;
  if (image.empty() || image.width < 64 || image.height < 64 || options.gridPx < 4) return sites;
  const Roi region = clipRoi(roi, image);
  if (region.width < 16 || region.height < 16) return sites;

  Reduced quarter;
  reduceBy4(image, {0, 0, image.width, image.height}, quarter);
  Field grey(quarter.width, quarter.height);
  for (size_t i = 0; i < grey.values.size(); ++i) {
    grey.values[i] = static_cast<float>(quarter.pixels[i] / quarter.scale);
  }

  // Structures are darker (vessels, needle, ribbon, marks) or brighter (glare) than their wider surroundings
  // by more than the texture is: the surroundings span three structure widths.
  const int wide = std::max(4, static_cast<int>(options.vesselWidthPx * 1.5 / kFactor));
  const Field fine = smooth(grey, 2);
  const Field around = boxMean(grey, wide);
  Field ridge(grey.width, grey.height);
  for (const double share : {0.2, 0.45, 0.8}) {
    addRidges(fine, std::max(2, static_cast<int>(share * options.vesselWidthPx / kFactor)), ridge);
  }
  std::vector<float> sizes;
  sizes.reserve(grey.values.size());
  for (size_t i = 0; i < grey.values.size(); ++i)
    sizes.push_back(std::abs(fine.values[i] - around.values[i]));
  const auto minContrast = static_cast<float>(options.minContrast);
  const float threshold = std::max(minContrast, 3.0f * 1.4826f * median(sizes));
  const float ridgeThreshold = std::max(minContrast, 3.5f * median(ridge.values));
  const float level = median(fine.values);
  std::vector<uint8_t> mask(grey.values.size(), 0);
  for (size_t i = 0; i < mask.size(); ++i) {
    const float difference = fine.values[i] - around.values[i];
    // Wider than the surroundings' window: seen by the level alone (cartridge, fluid, the dark outside of the
    // field).
    const bool foreign = fine.values[i] < 0.6f * level || fine.values[i] > 1.8f * level;
    const bool line = ridge.values[i] > ridgeThreshold && difference < -0.4f * threshold;
    if (line) mask[i] = kFaint;
    if (std::abs(difference) > threshold || foreign) mask[i] = kStrong;
  }
  dropSmall(mask, grey.width, grey.height, 20, 20);
  const Field distance = distanceTo(mask, grey.width, grey.height);

  // Texture: what remains between the scale of a pixel of the reduced image and about 40 px of the frame.
  const Field coarse = boxMean(grey, 5);
  Field energy(grey.width, grey.height);
  for (size_t i = 0; i < energy.values.size(); ++i) {
    const float d = grey.values[i] - coarse.values[i];
    energy.values[i] = d * d;
  }
  const Field texture = boxMean(energy, 16);

  for (int y = region.y + options.gridPx / 2; y < region.y + region.height; y += options.gridPx) {
    for (int x = region.x + options.gridPx / 2; x < region.x + region.width; x += options.gridPx) {
      const int i = std::clamp(static_cast<int>(std::lround(quarter.reducedX(x))), 0, grey.width - 1);
      const int j = std::clamp(static_cast<int>(std::lround(quarter.reducedY(y))), 0, grey.height - 1);
      SiteCandidate site;
      site.x = x;
      site.y = y;
      site.vesselDistancePx = kFactor * std::min(1e5, static_cast<double>(distance.at(i, j)));
      site.texture = std::sqrt(static_cast<double>(texture.at(i, j)));
      if (site.vesselDistancePx <= 0 || site.vesselDistancePx < options.minDistancePx) continue;
      sites.push_back(site);
    }
  }
  std::sort(sites.begin(), sites.end(), [](const SiteCandidate& a, const SiteCandidate& b) {
    if (a.vesselDistancePx != b.vesselDistancePx) return a.vesselDistancePx > b.vesselDistancePx;
    return a.texture > b.texture;
  });
  return sites;
}

}  // namespace surgiclaw::geometry
