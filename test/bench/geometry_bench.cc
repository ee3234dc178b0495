// npm run bench -- geometry: the needle search beside a plain OpenCV pipeline, frame by frame in one run, on
// synthetic frames of 2048 × 2048 with known needles. Prints a table, or JSON with --json.
//   geometry_bench [--seed S] [--frames N] [--json]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "../native/geometry/synthetic.h"
#include "surgiclaw/geometry/image_metrics.h"
#include "surgiclaw/geometry/needle.h"

namespace {

using namespace surgiclaw::geometry;             // NOLINT: the whole program is about it.
using namespace surgiclaw::geometry::synthetic;  // NOLINT

constexpr int kSide = 2048;
constexpr double kDegree = 3.14159265358979 / 180;

struct Scene {
  NeedleShape shape;
  Frame frame;
};

/// How frames of a set are made: background blur (px) and whether there are vessels and dust.
struct Set {
  const char* name;
  double blurFrom;
  double blurTo;
  int vessels;
  double needleBlurTo;
  int share;  ///< Of N frames, in thirtieths of the whole: 150, 30 and 30 for N = 150.
};

/// A vessel along a wandering path, blurred: distances by stamping each segment's surroundings.
void drawVessel(Canvas& canvas, uint64_t seed, double x, double y, double angle, double width, double sigma) {
  static std::vector<float> nearest;
  nearest.assign(static_cast<size_t>(kSide) * kSide, 1e9f);
  const auto path = wanderingPath(seed, x, y, angle, 1.6 * kSide, 0.12);
  const double margin = 0.5 * width + 4 * sigma + 1;
  for (size_t k = 0; k + 1 < path.size(); ++k) {
    const auto [ax, ay] = path[k];
    const double bx = path[k + 1].first - ax;
    const double by = path[k + 1].second - ay;
    const int x0 = std::max(0, static_cast<int>(std::min(ax, ax + bx) - margin));
    const int x1 = std::min(kSide - 1, static_cast<int>(std::max(ax, ax + bx) + margin));
    const int y0 = std::max(0, static_cast<int>(std::min(ay, ay + by) - margin));
    const int y1 = std::min(kSide - 1, static_cast<int>(std::max(ay, ay + by) + margin));
    for (int v = y0; v <= y1; ++v) {
      for (int u = x0; u <= x1; ++u) {
        const double f = std::clamp(((u - ax) * bx + (v - ay) * by) / (bx * bx + by * by), 0.0, 1.0);
        float& best = nearest[static_cast<size_t>(v) * kSide + static_cast<size_t>(u)];
        best = std::min(best, static_cast<float>(std::hypot(u - ax - f * bx, v - ay - f * by)));
      }
    }
  }
  for (int v = 0; v < kSide; ++v) {
    for (int u = 0; u < kSide; ++u) {
      const auto d = static_cast<double>(nearest[static_cast<size_t>(v) * kSide + static_cast<size_t>(u)]);
      if (d > margin) continue;
      canvas.cover(u, v, 0.75 * (normalCdf((d + 0.5 * width) / sigma) - normalCdf((d - 0.5 * width) / sigma)),
                   68);
    }
  }
}

Scene makeScene(const Set& set, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  Scene scene;
  NeedleShape& shape = scene.shape;
  shape.tipX = uniform(0.35, 0.65) * kSide;
  shape.tipY = uniform(0.45, 0.75) * kSide;
  shape.angleRad = uniform(-65, 65) * kDegree;
  shape.shankWidth = uniform(21, 42);
  shape.tipWidth = 0.35 * shape.shankWidth;
  shape.capRadius = 0.25 * shape.tipWidth;
  shape.capLength = 0.55 * shape.tipWidth;
  shape.sigma = uniform(1, set.needleBlurTo);
  shape.sigmaSlope = uniform(0, 0.01);
  shape.level = uniform(20, 40);

  const double blur = uniform(set.blurFrom, set.blurTo);
  Canvas canvas(kSide, kSide, 130 * uniform(0.7, 1.3));
  addTexture(canvas, seed, {{3 + 3 * blur, 0.05}, {30 + 3 * blur, 0.06}, {300, 0.1}});
  for (int v = 0; v < set.vessels; ++v) {
    drawVessel(canvas, seed * 31 + static_cast<uint64_t>(v), uniform(0, kSide), uniform(0, 0.5 * kSide),
               uniform(0.3, 2.8), uniform(30, 90), std::max(0.8, blur));
  }
  if (set.vessels > 0) {
    for (int k = 0; k < 12; ++k) {
      const double x = uniform(0, kSide);
      const double y = uniform(0, kSide);
      drawBand(canvas, {{x, y}, {x + 1, y}}, uniform(8, 26), 1.5, 60, 0.5);
    }
  }
  drawNeedle(canvas, shape);
  scene.frame = expose(canvas, seed, std::pow(10.0, uniform(0, 6) / 20));
  return scene;
}

struct Answer {
  bool found = false;
  double x = 0;
  double y = 0;
  double angle = 0;  ///< From straight down.
};

Answer ours(const Frame& frame) {
  const NeedleEstimate estimate = findNeedle(frame.view());
  return {estimate.found, estimate.tipX, estimate.tipY, std::atan2(estimate.directionX, estimate.directionY)};
}

/// GaussianBlur 5 × 5, Canny, probabilistic Hough; the longest bundle of nearly parallel, neighbouring lines.
Answer plainOpenCv(const Frame& frame) {
  const cv::Mat image(frame.height, frame.width, CV_8UC1, const_cast<uint8_t*>(frame.pixels.data()));
  cv::Mat smooth;
  cv::Mat edges;
  cv::GaussianBlur(image, smooth, cv::Size(5, 5), 1.4);
  cv::Canny(smooth, edges, 25, 60);
  std::vector<cv::Vec4i> lines;
  cv::HoughLinesP(edges, lines, 1, 0.25 * kDegree, 120, 250, 25);
  struct Line {
    double x, y, angle, length, lowX, lowY;
  };
  std::vector<Line> all;
  for (const cv::Vec4i& l : lines) {
    const bool down = l[3] >= l[1];
    const double dx = down ? l[2] - l[0] : l[0] - l[2];
    const double dy = down ? l[3] - l[1] : l[1] - l[3];
    all.push_back({0.5 * (l[0] + l[2]), 0.5 * (l[1] + l[3]), std::atan2(dx, dy), std::hypot(dx, dy),
                   static_cast<double>(down ? l[2] : l[0]), static_cast<double>(down ? l[3] : l[1])});
  }
  Answer best;
  double bestLength = 0;
  for (const Line& seed : all) {
    double length = 0, angle = 0, low = 1e9, high = -1e9, tip = -1e9;
    const double dx = std::sin(seed.angle);
    const double dy = std::cos(seed.angle);
    for (const Line& line : all) {
      const double aside = (line.x - seed.x) * dy - (line.y - seed.y) * dx;
      if (std::abs(line.angle - seed.angle) > 2 * kDegree || std::abs(aside) > 60) continue;
      length += line.length;
      angle += line.length * line.angle;
      low = std::min(low, aside);
      high = std::max(high, aside);
      tip = std::max(tip, (line.lowX - seed.x) * dx + (line.lowY - seed.y) * dy);
    }
    if (length <= bestLength || high - low < 8) continue;
    bestLength = length;
    const double middle = 0.5 * (low + high);
    best = {true, seed.x + tip * dx + middle * dy, seed.y + tip * dy - middle * dx, angle / length};
  }
  return best;
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return -1;  // JSON knows no NaN.
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

struct Method {
  const char* name;
  std::function<Answer(const Frame&)> run;
  std::vector<double> ms, angle, across, along;
  int wrong = 0;  ///< Claimed, but not the needle.

  void judge(const Scene& scene) {
    const double start = now();
    const Answer answer = run(scene.frame);
    ms.push_back(now() - start);
    if (!answer.found) return;
    const NeedleShape& truth = scene.shape;
    const double x = answer.x - truth.tipX;
    const double y = answer.y - truth.tipY;
    const double a = std::abs(answer.angle - truth.angleRad) / kDegree;
    const double c = std::abs(x * truth.directionY() - y * truth.directionX());
    const double l = std::abs(x * truth.directionX() + y * truth.directionY());
    // Hough's segments end where the needle begins to taper: the error along is shown, not judged.
    if (a >= 2 || c >= 15) {
      ++wrong;
      return;
    }
    angle.push_back(a);
    across.push_back(c);
    along.push_back(l);
  }
};

}  // namespace

int main(int count, char** arguments) {
  uint64_t seed = 1;
  int frames = 150;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(arguments[i], "--seed") == 0) {
      seed = std::strtoull(arguments[i + 1], nullptr, 10);
    } else if (std::strcmp(arguments[i], "--frames") == 0) {
      frames = std::max(5, std::atoi(arguments[i + 1]));
    } else {
      std::fprintf(stderr, "geometry-bench [--seed S] [--frames N]\n");
      return 2;
    }
  }
  cv::setNumThreads(1);
  const Set sets[] = {
      {"mixed", 0.5, 10, 3, 8, 5}, {"clean", 8, 10, 0, 8, 1}, {"sharp and busy", 0.5, 1, 4, 3, 1}};
  std::printf("{\"seed\":%llu,\"sets\":[", static_cast<unsigned long long>(seed));
  for (const Set& set : sets) {
    const auto index = static_cast<uint64_t>(&set - sets);
    Method methods[] = {{"surgiclaw", ours, {}, {}, {}, {}}, {"plain OpenCV", plainOpenCv, {}, {}, {}, {}}};
    const int n = std::max(1, frames * set.share / 5);
    for (int k = 0; k < n; ++k) {
      const Scene scene = makeScene(set, seed * 100003 + static_cast<uint64_t>(k) * 7 + index * 1000003);
      // The order alternates, so that neither always finds the frame in the cache.
      for (int m = 0; m < 2; ++m) methods[(m + k) % 2].judge(scene);
    }
    std::printf("%s{\"set\":\"%s\",\"frames\":%d,\"ratio\":%.3f", index == 0 ? "" : ",", set.name, n,
                quantile(methods[1].ms, 0.5) / quantile(methods[0].ms, 0.5));
    for (const Method& m : methods) {
      std::printf(",\"%s\":{\"found\":%zu,\"wrong\":%d", m.name, m.angle.size(), m.wrong);
      const auto pair = [](const char* name, const std::vector<double>& values) {
        std::printf(",\"%s\":[%.4f,%.4f]", name, quantile(values, 0.5), quantile(values, 0.95));
      };
      pair("ms", m.ms);
      pair("angleDeg", m.angle);
      pair("acrossPx", m.across);
      pair("alongPx", m.along);
      std::printf("}");
    }
    std::printf("}");
    std::fflush(stdout);
  }
  std::printf("]}\n");
  return 0;
}
