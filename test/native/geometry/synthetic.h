// Synthetic frames with known sub-pixel truth, from formulas: silhouettes convolved with a Gaussian or a disc
// by numerical integration. Independent of native/optics, which the detectors will meet in the twin.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "surgiclaw/geometry/image_view.h"

namespace surgiclaw::geometry::synthetic {

inline double normalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// A frame in grey levels before noise and rounding.
struct Canvas {
  int width = 0;
  int height = 0;
  std::vector<float> grey;

  Canvas(int w, int h, double level)
      : width(w),
        height(h),
        grey(static_cast<size_t>(w) * static_cast<size_t>(h), static_cast<float>(level)) {}
  float& at(int x, int y) {
    return grey[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
  /// Covers a pixel by a share of something of another brightness.
  void cover(int x, int y, double share, double level) {
    float& pixel = at(x, y);
    pixel = static_cast<float>(pixel + share * (level - static_cast<double>(pixel)));
  }
};

/// A rounded Mono8 frame that owns its pixels.
struct Frame {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;

  ImageView view() const { return {pixels.data(), width, height, width}; }
};

/// Smooth random field with standard deviation about 1: random lattice, cubic interpolation.
class ValueNoise {
 public:
  ValueNoise(uint64_t seed, double cell, int width, int height)
      : cell_(cell),
        columns_(static_cast<int>(width / cell) + 5),
        rows_(static_cast<int>(height / cell) + 5) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    lattice_.resize(static_cast<size_t>(columns_) * static_cast<size_t>(rows_));
    for (float& value : lattice_) value = normal(random);
  }

  double at(double x, double y) const {
    const double u = x / cell_ + 1;
    const double v = y / cell_ + 1;
    const int i = std::clamp(static_cast<int>(u), 1, columns_ - 3);
    const int j = std::clamp(static_cast<int>(v), 1, rows_ - 3);
    double wx[4];
    double wy[4];
    weights(u - i, wx);
    weights(v - j, wy);
    double sum = 0;
    for (int b = 0; b < 4; ++b) {
      for (int a = 0; a < 4; ++a) {
        sum += wx[a] * wy[b] *
               static_cast<double>(lattice_[static_cast<size_t>((j + b - 1) * columns_ + i + a - 1)]);
      }
    }
    return sum * 2.2;  // The B-spline averages: its own deviation is about 0.45.
  }

 private:
  static void weights(double f, double* w) {
    const double g = 1 - f;
    w[0] = g * g * g / 6;
    w[1] = (3 * f * f * f - 6 * f * f + 4) / 6;
    w[2] = (3 * g * g * g - 6 * g * g + 4) / 6;
    w[3] = f * f * f / 6;
  }

  double cell_;
  int columns_;
  int rows_;
  std::vector<float> lattice_;
};

/// Adds texture: amplitude as a share of the level, per octave cell size in px.
inline void addTexture(Canvas& canvas, uint64_t seed,
                       const std::vector<std::pair<double, double>>& cellAndShare) {
  for (size_t k = 0; k < cellAndShare.size(); ++k) {
    const ValueNoise noise(seed * 977 + k, cellAndShare[k].first, canvas.width, canvas.height);
    for (int y = 0; y < canvas.height; ++y) {
      for (int x = 0; x < canvas.width; ++x) {
        float& pixel = canvas.at(x, y);
        pixel = static_cast<float>(pixel * std::max(0.2, 1 + cellAndShare[k].second * noise.at(x, y)));
      }
    }
  }
}

/// A needle by its tip, direction (shank to tip) and shape in pixels; u counts from the tip up the shank.
struct NeedleShape {
  double tipX = 1024;
  double tipY = 1024;
  double angleRad = 0;  ///< From straight down, positive: the tip points to the right.
  double shankWidth = 34;
  double tipWidth = 20.5;
  double taperLength = 175;
  double capLength = 11;  ///< Where the full tip width is reached.
  double capRadius = 5;   ///< Sphere at the very end; a cone leads from it to the full width.
  double sigma = 1.5;     ///< Blur at the tip.
  double sigmaSlope =
      0;  ///< Linear growth with u of the distance from focus, as σ² = σ0² + (slope·(u − uFocus))².
  double focusAt = 0;
  double level = 25;
  bool barb = false;
  double barbAt = 34;
  double barbReach = 22;
  double barbThick = 7;
  bool disc = false;  ///< Disc-shaped point spread of the same variance instead of a Gaussian.

  double directionX() const { return std::sin(angleRad); }
  double directionY() const { return std::cos(angleRad); }
  double blur(double u) const { return std::hypot(sigma, sigmaSlope * (u - focusAt)); }
  double half(double u) const {
    if (u <= 0) return 0;
    if (u < capRadius)
      return std::sqrt(std::max(0.0, capRadius * capRadius - (capRadius - u) * (capRadius - u)));
    const double body = 0.5 * (tipWidth + (shankWidth - tipWidth) * std::clamp(u / taperLength, 0.0, 1.0));
    if (u < capLength) return capRadius + (body - capRadius) * (u - capRadius) / (capLength - capRadius);
    return body;
  }
  double halfRight(double u) const {
    const double body = half(u);
    const double off = std::abs(u - barbAt);
    if (!barb || off >= 0.5 * barbThick) return body;
    const double radius = 0.5 * barbThick;
    return std::max(body, barbReach - radius + std::sqrt(radius * radius - off * off));
  }

  /// Share covered at u above the tip, t to the right, of the silhouette convolved with the point spread.
  double coverage(double u, double t) const {
    const double s = blur(std::max(0.0, u));
    const double zone = 60 + 5 * s;
    if (u > zone && !disc) {
      const double h = half(u);
      return normalCdf((h - t) / s) - normalCdf((-h - t) / s);
    }
    const double reach = disc ? 2 * s : 5 * s;
    if (u < -reach || std::abs(t) > 0.5 * shankWidth + barbReach + reach) return 0;
    const double step = std::min(0.25, s / 8);
    double sum = 0;
    for (double v = std::max(0.0, u - reach) + 0.5 * step; v < u + reach; v += step) {
      const double l = -half(v);
      const double r = halfRight(v);
      if (disc) {
        const double chordSquare = reach * reach - (u - v) * (u - v);
        if (chordSquare <= 0) continue;
        const double chord = std::sqrt(chordSquare);
        const double overlap = std::min(t + chord, r) - std::max(t - chord, l);
        if (overlap > 0) sum += overlap * step / (3.14159265358979 * reach * reach);
      } else {
        const double z = (u - v) / s;
        sum += std::exp(-0.5 * z * z) / (s * 2.50662827463) * step *
               (normalCdf((r - t) / s) - normalCdf((l - t) / s));
      }
    }
    return sum;
  }
};

inline void drawNeedle(Canvas& canvas, const NeedleShape& shape) {
  const double dx = shape.directionX();
  const double dy = shape.directionY();
  for (int y = 0; y < canvas.height; ++y) {
    for (int x = 0; x < canvas.width; ++x) {
      const double px = x - shape.tipX;
      const double py = y - shape.tipY;
      const double u = -(px * dx + py * dy);
      const double t = px * dy - py * dx;
      const double s = shape.blur(std::max(0.0, u));
      const double side =
          0.5 * shape.shankWidth + (u < 60 + 5 * s && shape.barb ? shape.barbReach : 0.0) + 5 * s;
      if (std::abs(t) > side || u < -5 * s) continue;
      canvas.cover(x, y, shape.coverage(u, t), shape.level);
    }
  }
}

/// A soft band along a polyline (vessel, ribbon, thread): coverage of the nearest segment's blurred bar with
/// round ends.
inline void drawBand(Canvas& canvas, const std::vector<std::pair<double, double>>& line, double width,
                     double sigma, double level, double opacity = 1) {
  double minX = 1e9, maxX = -1e9, minY = 1e9, maxY = -1e9;
  const double margin = 0.5 * width + 4 * sigma + 1;
  for (const auto& [x, y] : line) {
    minX = std::min(minX, x - margin);
    maxX = std::max(maxX, x + margin);
    minY = std::min(minY, y - margin);
    maxY = std::max(maxY, y + margin);
  }
  for (int y = std::max(0, static_cast<int>(minY)); y < std::min(canvas.height, static_cast<int>(maxY) + 1);
       ++y) {
    for (int x = std::max(0, static_cast<int>(minX)); x < std::min(canvas.width, static_cast<int>(maxX) + 1);
         ++x) {
      double nearest = 1e9;
      for (size_t k = 0; k + 1 < line.size(); ++k) {
        const double ax = line[k].first;
        const double ay = line[k].second;
        const double bx = line[k + 1].first - ax;
        const double by = line[k + 1].second - ay;
        const double f = std::clamp(((x - ax) * bx + (y - ay) * by) / (bx * bx + by * by), 0.0, 1.0);
        nearest = std::min(nearest, std::hypot(x - ax - f * bx, y - ay - f * by));
      }
      if (nearest > margin) continue;
      const double share =
          normalCdf((nearest + 0.5 * width) / sigma) - normalCdf((nearest - 0.5 * width) / sigma);
      canvas.cover(x, y, opacity * share, level);
    }
  }
}

/// A tortuous vessel across the frame: random walk of directions from a start point.
inline std::vector<std::pair<double, double>> wanderingPath(uint64_t seed, double x, double y, double angle,
                                                            double length, double bend) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::pair<double, double>> path{{x, y}};
  double turn = 0;
  for (double done = 0; done < length; done += 30) {
    turn = 0.7 * turn + bend * normal(random);
    angle += turn;
    x += 30 * std::cos(angle);
    y += 30 * std::sin(angle);
    path.emplace_back(x, y);
  }
  return path;
}

/// Shot and read noise of the reference camera (10,000 e⁻ full well, 5 e⁻ read noise), rounding, clipping.
inline Frame expose(const Canvas& canvas, uint64_t seed, double noiseScale = 1) {
  Frame frame;
  frame.width = canvas.width;
  frame.height = canvas.height;
  frame.pixels.resize(canvas.grey.size());
  std::mt19937_64 random(seed);
  // A table of normal deviates: drawing four million for every frame would dominate the tests.
  static const std::vector<float> deviates = [] {
    std::mt19937_64 source(99);
    std::normal_distribution<float> normal;
    std::vector<float> table(1 << 16);
    for (float& value : table) value = normal(source);
    return table;
  }();
  constexpr float kPerElectron = 255.0f / 10000.0f;
  for (size_t i = 0; i < canvas.grey.size(); ++i) {
    const float mean = std::max(0.0f, canvas.grey[i]);
    const float sigma = std::sqrt(kPerElectron * mean + 25 * kPerElectron * kPerElectron);
    const float value = mean + static_cast<float>(noiseScale) * sigma * deviates[random() & 0xffff];
    frame.pixels[i] = static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
  }
  return frame;
}

}  // namespace surgiclaw::geometry::synthetic
