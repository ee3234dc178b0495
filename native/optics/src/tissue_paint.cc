#include "tissue_paint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <random>
#include <vector>

namespace surgiclaw::optics {
namespace {

double smoothStep(double low, double high, double x) {
  const double q = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return q * q * (3 - 2 * q);
}

double ease(double q) { return q * q * (3 - 2 * q); }

/// Smooth random field on the plane with zero mean and unit variance: random values on lattices of several
/// spacings, each turned by another angle so that no lattice shows.
class Texture {
 public:
  explicit Texture(std::uint32_t seed) : values_(kLattice * kLattice) {
    for (std::size_t k = 0; k < std::size(kOctaves); ++k) {
      cosine_[k] = std::cos(kOctaves[k].angle) / kOctaves[k].spacingM;
      sine_[k] = std::sin(kOctaves[k].angle) / kOctaves[k].spacingM;
    }
    std::mt19937 generator(seed ^ 0x74697373U);
    for (float& value : values_) value = static_cast<float>(generator()) * 0x1p-31f - 1.0f;
    double sum = 0, squares = 0;
    constexpr int kSamples = 64;
    for (int j = 0; j < kSamples; ++j) {
      for (int i = 0; i < kSamples; ++i) {
        const double value = raw((i - kSamples / 2) * 53e-6, (j - kSamples / 2) * 47e-6);
        sum += value;
        squares += value * value;
      }
    }
    mean_ = sum / (kSamples * kSamples);
    perDeviation_ = 1 / std::sqrt(squares / (kSamples * kSamples) - mean_ * mean_);
  }

  [[nodiscard]] double at(double u, double v) const { return (raw(u, v) - mean_) * perDeviation_; }

 private:
  struct Octave {
    double spacingM, amplitude, angle;
  };
  // In pixels about 10 to 75, so that something is left to track at a blur of 6 px, and slow shading.
  static constexpr Octave kOctaves[] = {
      {12e-6, 0.40, 0.3}, {22e-6, 0.70, 1.1}, {41e-6, 0.95, 2.0}, {88e-6, 0.75, 2.7}, {310e-6, 0.55, 0.8}};
  static constexpr std::size_t kLattice = 256;

  [[nodiscard]] double lattice(long i, long j, std::size_t octave) const {
    const auto row = static_cast<std::size_t>(j + 37 * static_cast<long>(octave)) % kLattice;
    const auto column = static_cast<std::size_t>(i + 101 * static_cast<long>(octave)) % kLattice;
    return values_[row * kLattice + column];
  }

  [[nodiscard]] double raw(double u, double v) const {
    double sum = 0;
    for (std::size_t k = 0; k < std::size(kOctaves); ++k) {
      const double x = cosine_[k] * u - sine_[k] * v, y = sine_[k] * u + cosine_[k] * v;
      const double x0 = std::floor(x), y0 = std::floor(y);
      const double fx = ease(x - x0), fy = ease(y - y0);
      const long i = static_cast<long>(x0), j = static_cast<long>(y0);
      const double top = lattice(i, j, k) * (1 - fx) + lattice(i + 1, j, k) * fx;
      const double bottom = lattice(i, j + 1, k) * (1 - fx) + lattice(i + 1, j + 1, k) * fx;
      sum += kOctaves[k].amplitude * (top * (1 - fy) + bottom * fy);
    }
    return sum;
  }

  std::vector<float> values_;
  std::array<double, std::size(kOctaves)> cosine_{};
  std::array<double, std::size(kOctaves)> sine_{};
  double mean_ = 0;
  double perDeviation_ = 1;
};

/// The affine map between canvas pixels and the plane's (u, v).
class PlaneMap {
 public:
  PlaneMap(const Tissue& tissue, const View& view, int margin) {
    const Vec3 vAxis = cross(tissue.normal, tissue.uAxis);
    const auto& [right, down, forward] = view.rows();
    const double s = view.metresPerPixel();
    xu_ = dot(right, tissue.uAxis) / s;
    xv_ = dot(right, vAxis) / s;
    yu_ = dot(down, tissue.uAxis) / s;
    yv_ = dot(down, vAxis) / s;
    const ImagePoint origin = view.project(tissue.origin);
    x0_ = origin.x + margin;
    y0_ = origin.y + margin;
    determinant_ = xu_ * yv_ - xv_ * yu_;
  }

  [[nodiscard]] cv::Point2d pixel(const PlanePoint& p) const {
    return {x0_ + xu_ * p.u + xv_ * p.v, y0_ + yu_ * p.u + yv_ * p.v};
  }
  [[nodiscard]] PlanePoint plane(double x, double y) const {
    const double dx = x - x0_, dy = y - y0_;
    return {(yv_ * dx - xv_ * dy) / determinant_, (xu_ * dy - yu_ * dx) / determinant_};
  }
  /// Canvas pixels that a disc of this radius around these points can touch.
  [[nodiscard]] cv::Rect box(std::initializer_list<PlanePoint> points, double radius, int size) const {
    double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
    const double rx = radius * std::hypot(xu_, xv_), ry = radius * std::hypot(yu_, yv_);
    for (const PlanePoint& point : points) {
      const cv::Point2d p = pixel(point);
      left = std::min(left, p.x - rx);
      right = std::max(right, p.x + rx);
      top = std::min(top, p.y - ry);
      bottom = std::max(bottom, p.y + ry);
    }
    const auto whole = [size](double value) {
      return static_cast<int>(std::clamp(value, -1.0, static_cast<double>(size)));
    };
    return cv::Rect(cv::Point(whole(left), whole(top)), cv::Point(whole(right) + 2, whole(bottom) + 2)) &
           cv::Rect(0, 0, size, size);
  }

 private:
  double xu_, xv_, yu_, yv_, x0_, y0_, determinant_;
};

/// Calls use(pixel, plane point) for every pixel of the box.
template <typename Use>
void overBox(cv::Mat& canvas, const cv::Rect& box, const PlaneMap& map, Use use) {
  for (int y = box.y; y < box.y + box.height; ++y) {
    float* row = canvas.ptr<float>(y);
    for (int x = box.x; x < box.x + box.width; ++x) use(row[x], map.plane(x, y));
  }
}

double distanceToSegment(const PlanePoint& p, const PlanePoint& a, const PlanePoint& b) {
  const double du = b.u - a.u, dv = b.v - a.v;
  const double length2 = du * du + dv * dv;
  const double t = length2 > 0 ? std::clamp(((p.u - a.u) * du + (p.v - a.v) * dv) / length2, 0.0, 1.0) : 0.0;
  return std::hypot(p.u - a.u - t * du, p.v - a.v - t * dv);
}

/// How dark a vessel is at q radii from its middle: blood is deepest in the middle, the wall is soft.
double vesselProfile(double q) {
  const double tube = std::sqrt(std::max(0.0, 1 - q * q));
  return smoothStep(1.12, 0.72, q) * (0.62 + 0.38 * tube);
}

cv::Mat paintVessels(const Tissue& tissue, const PlaneMap& map, int size) {
  cv::Mat darkness = cv::Mat::zeros(size, size, CV_32F);
  for (const Vessel& vessel : tissue.vessels) {
    for (std::size_t i = 0; i + 1 < vessel.points.size(); ++i) {
      const PlanePoint &a = vessel.points[i], &b = vessel.points[i + 1];
      overBox(darkness, map.box({a, b}, 1.15 * vessel.radiusM, size), map,
              [&](float& value, const PlanePoint& p) {
                const double q = distanceToSegment(p, a, b) / vessel.radiusM;
                value = std::max(value, static_cast<float>(vessel.darkness * vesselProfile(q)));
              });
    }
  }
  return darkness;
}

/// A film of liquid: darker than dry tissue, hides its texture, mirrors the lamp at its rim.
void paintFluid(cv::Mat& canvas, const Tissue& tissue, const PlaneMap& map) {
  for (const Fluid& fluid : tissue.fluid) {
    const cv::Rect box = map.box({fluid.centre}, 1.3 * fluid.radiusM, canvas.cols);
    overBox(canvas, box, map, [&](float& value, const PlanePoint& p) {
      const double du = p.u - fluid.centre.u, dv = p.v - fluid.centre.v;
      const double angle = std::atan2(dv, du);
      const double reach = fluid.radiusM * (1 + 0.10 * std::sin(3 * angle + 1) + 0.06 * std::sin(5 * angle));
      const double q = std::hypot(du, dv) / reach;
      const double film = fluid.strength * smoothStep(1.0, 0.85, q);
      const double rim = fluid.strength * std::exp(-0.5 * std::pow((q - 0.93) / 0.035, 2));
      const double glint = 0.35 * rim * std::max(0.0, std::cos(angle - 0.9));
      const double calm = 0.88 * tissue.reflectance;
      value = static_cast<float>(value + 0.6 * film * (calm - value) + glint);
    });
  }
}

}  // namespace

cv::Mat paintTissue(const Scene& scene, const View& view, int size, int margin) {
  const Tissue& tissue = scene.tissue;
  const PlaneMap map(tissue, view, margin);
  const Texture texture(scene.seed);
  cv::Mat canvas(size, size, CV_32F);
  overBox(canvas, cv::Rect(0, 0, size, size), map, [&](float& value, const PlanePoint& p) {
    const double relative =
        tissue.textureContrast > 0 ? 1 + 0.5 * tissue.textureContrast * texture.at(p.u, p.v) : 1;
    value = static_cast<float>(tissue.reflectance * std::max(0.05, relative));
  });
  const cv::Mat darkness = paintVessels(tissue, map, size);
  for (int y = 0; y < size; ++y) {
    float* row = canvas.ptr<float>(y);
    const float* dark = darkness.ptr<float>(y);
    for (int x = 0; x < size; ++x) row[x] *= 1.0f - dark[x];
  }
  for (const Mark& mark : tissue.marks) {
    overBox(canvas, map.box({mark.centre}, 1.2 * mark.radiusM, size), map,
            [&](float& value, const PlanePoint& p) {
              const double q = std::hypot(p.u - mark.centre.u, p.v - mark.centre.v) / mark.radiusM;
              value *= static_cast<float>(1 - mark.darkness * smoothStep(1.1, 0.9, q));
            });
  }
  paintFluid(canvas, tissue, map);
  return canvas;
}

}  // namespace surgiclaw::optics
