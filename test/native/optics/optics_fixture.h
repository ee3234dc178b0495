// Scenes and measurements that the tests of the renderer share.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "surgiclaw/optics/renderer.h"
#include "surgiclaw/optics/view.h"

namespace surgiclaw::optics::testing {

constexpr double kPi = 3.14159265358979323846;
constexpr double kScale = 2.4e-3 / 2048;

/// A microscope at this azimuth and elevation (rad), looking at `focus`, image x horizontal.
inline CameraScene cameraAt(double azimuth, double elevation, const Vec3& focus, const char* serial) {
  CameraScene camera{};
  const Vec3 forward{-std::cos(elevation) * std::cos(azimuth), -std::cos(elevation) * std::sin(azimuth),
                     -std::sin(elevation)};
  const Vec3 right{-std::sin(azimuth), std::cos(azimuth), 0};
  camera.serial = serial;
  camera.address = "127.0.0.2";
  camera.rotation = {right, cross(forward, right), forward};
  camera.focusPointM = focus;
  camera.metresPerPixel = kScale;
  camera.focusDirection = forward;
  camera.startExposureUs = 10000;
  camera.frameRate = 20;
  return camera;
}

/// Flat tissue of reflectance 0.5 at z = 0, one camera of the reference cell, no vignetting.
inline Scene flatScene() {
  Scene scene;
  scene.seed = 11;
  scene.cameras.push_back(cameraAt(kPi / 6, 35 * kPi / 180, {0, 0, 3e-4}, "T1"));
  scene.tissue.origin = {0, 0, 0};
  scene.tissue.normal = {0, 0, 1};
  scene.tissue.uAxis = {1, 0, 0};
  scene.tissue.reflectance = 0.5;
  scene.tissue.textureContrast = 0;
  return scene;
}

/// A renderer kept for all tests of this program: making one takes a second. The scene's model and marks tell
/// them apart.
inline Renderer& sharedRenderer(const Scene& scene) {
  static std::map<std::pair<ImageModel, std::size_t>, std::unique_ptr<Renderer>> made;
  std::unique_ptr<Renderer>& renderer = made[{scene.model, scene.tissue.marks.size()}];
  if (!renderer) renderer = std::make_unique<Renderer>(scene, 0, makeNoiseTile(scene));
  return *renderer;
}

struct Picture {
  Region region;
  std::vector<double> values;

  [[nodiscard]] double at(int x, int y) const {
    return values[static_cast<std::size_t>(y - region.y) * static_cast<std::size_t>(region.width) +
                  static_cast<std::size_t>(x - region.x)];
  }
  void each(const std::function<void(int, int, double)>& use) const {
    for (int y = region.y; y < region.y + region.height; ++y)
      for (int x = region.x; x < region.x + region.width; ++x) use(x, y, at(x, y));
  }
};

inline Picture reflectance(Renderer& renderer, const SceneState& state, const Region& region = {}) {
  std::vector<float> values(static_cast<std::size_t>(region.width) * static_cast<std::size_t>(region.height));
  renderer.renderReflectance(state, region, values.data());
  return {region, {values.begin(), values.end()}};
}

/// Share of each pixel that the segments cover. Light is linear in their reflectance, so two pictures with
/// another reflectance differ by coverage times the difference, whatever is mirrored in them and lies behind
/// them.
inline Picture coverage(Renderer& renderer, SceneState state, const Region& region = {}) {
  for (Segment& segment : state.segments) segment.reflectance = 0;
  Picture dark = reflectance(renderer, state, region);
  for (Segment& segment : state.segments) segment.reflectance = 1;
  const Picture bright = reflectance(renderer, state, region);
  for (std::size_t i = 0; i < dark.values.size(); ++i) dark.values[i] = bright.values[i] - dark.values[i];
  return dark;
}

struct Moments {
  double mass = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
};

/// Mass, centre of gravity and central second moments.
inline Moments momentsOf(const Picture& picture) {
  Moments m;
  picture.each([&m](int x, int y, double v) {
    m.mass += v;
    m.x += v * x;
    m.y += v * y;
  });
  m.x /= m.mass;
  m.y /= m.mass;
  picture.each([&m](int x, int y, double v) {
    m.xx += v * (x - m.x) * (x - m.x);
    m.yy += v * (y - m.y) * (y - m.y);
    m.xy += v * (x - m.x) * (y - m.y);
  });
  m.xx /= m.mass;
  m.yy /= m.mass;
  m.xy /= m.mass;
  return m;
}

/// The world point that appears at this pixel, this far behind the focal plane (camera at rest).
inline Vec3 worldPoint(const CameraScene& camera, double x, double y, double depthM) {
  Vec3 point = camera.focusPointM;
  point = add(point, scale(camera.rotation[0], (x - 1024) * camera.metresPerPixel));
  point = add(point, scale(camera.rotation[1], (y - 1024) * camera.metresPerPixel));
  return add(point, scale(camera.rotation[2], depthM));
}

}  // namespace surgiclaw::optics::testing
