// Frames of one microscope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::optics {

class NoiseTile;

/// Made once per scene and shared by its renderers.
std::shared_ptr<const NoiseTile> makeNoiseTile(const Scene& scene);

/// Part of the sensor, pixels.
struct Region {
  int x = 0;
  int y = 0;
  int width = kSensorSize;
  int height = kSensorSize;
};

/// How one frame is taken.
struct Shot {
  double exposureUs;
  double gainRaw;             ///< dB
  std::uint64_t frameNumber;  ///< chooses the noise: the same number gives the same frame, byte for byte
  Region region{};
};

/// Draws what camera `camera` of the scene sees. One thread at a time.
class Renderer {
 public:
  /// Draws and blurs the tissue: takes a second or two.
  Renderer(const Scene& scene, std::size_t camera, std::shared_ptr<const NoiseTile> noise);
  ~Renderer();
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  /// Mono8, region.width * region.height bytes, row-major.
  void render(const SceneState& state, const Shot& shot, std::uint8_t* out);

  /// Light before the sensor, in units of reflectance under full light: no noise, no vignetting. Row-major
  /// floats.
  void renderReflectance(const SceneState& state, const Region& region, float* out);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Grey levels per unit of reflectance per second of exposure follow from the sensor; exposed for tests and
/// tools.
struct SensorModel {
  double electronsPerReflectance;  ///< in the image centre, at this exposure and light
  double greyPerElectron;          ///< at this gain
};
SensorModel sensorModel(const Sensor& sensor, double exposureUs, double gainRaw, double light);

}  // namespace surgiclaw::optics
