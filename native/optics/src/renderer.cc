#include "surgiclaw/optics/renderer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "body_painter.h"
#include "noise_tile.h"
#include "plate_painter.h"
#include "row_kernels.h"
#include "surgiclaw/optics/view.h"
#include "tissue_canvas.h"

namespace surgiclaw::optics {
namespace {

constexpr double kProperGrey = 110;
constexpr double kProperReflectance = 0.5;
/// Bend of the disc model's response: lifts the mid greys by about 12 %.
constexpr double kCompression = 0.15;

/// Something fixed in the image: a small picture that multiplies (dust) or adds to (glare) the light.
struct Overlay {
  int x, y, width, height;
  std::vector<float> values;
};

template <typename Shape>
Overlay makeOverlay(double x, double y, double reach, Shape shape) {
  Overlay overlay;
  overlay.x = std::max(0, static_cast<int>(std::floor(x - reach)));
  overlay.y = std::max(0, static_cast<int>(std::floor(y - reach)));
  overlay.width =
      std::clamp(static_cast<int>(std::ceil(x + reach)) - overlay.x, 0, std::max(0, kSensorSize - overlay.x));
  overlay.height =
      std::clamp(static_cast<int>(std::ceil(y + reach)) - overlay.y, 0, std::max(0, kSensorSize - overlay.y));
  for (int j = 0; j < overlay.height; ++j) {
    for (int i = 0; i < overlay.width; ++i)
      overlay.values.push_back(static_cast<float>(shape(std::hypot(overlay.x + i - x, overlay.y + j - y))));
  }
  return overlay;
}

/// Calls use(row value, overlay value) where the overlay meets row y, columns [x, x + count).
template <typename Use>
void overRow(const Overlay& overlay, int y, int x, int count, float* row, Use use) {
  if (y < overlay.y || y >= overlay.y + overlay.height) return;
  const float* values = overlay.values.data() +
                        static_cast<std::size_t>(y - overlay.y) * static_cast<std::size_t>(overlay.width);
  const int from = std::max(x, overlay.x), to = std::min(x + count, overlay.x + overlay.width);
  for (int i = from; i < to; ++i) use(row[i - x], values[i - overlay.x]);
}

}  // namespace

std::shared_ptr<const NoiseTile> makeNoiseTile(const Scene& scene) {
  return std::make_shared<const NoiseTile>(scene.seed);
}

SensorModel sensorModel(const Sensor& sensor, double exposureUs, double gainRaw, double light) {
  const double greyPerElectron = (255 - sensor.blackLevel) / sensor.fullWellE;
  const double properElectrons = (kProperGrey - sensor.blackLevel) / greyPerElectron / kProperReflectance;
  return {properElectrons * exposureUs / sensor.properExposureUs * light,
          greyPerElectron * std::pow(10.0, gainRaw / 20)};
}

struct Renderer::Parts {
  Parts(const Scene& s, std::size_t c, std::shared_ptr<const NoiseTile> n)
      : scene(s), camera(c), noise(std::move(n)), canvas(s, c), painter(s.model), plate(s.model) {
    const CameraScene& settings = scene.cameras[camera];
    for (const Dust& d : settings.dust) {
      dust.push_back(makeOverlay(d.x, d.y, d.radiusPx + 4, [&d](double distance) {
        const double q = std::clamp((d.radiusPx + 2 - distance) / 4, 0.0, 1.0);
        return 1 - d.darkness * q * q * (3 - 2 * q);
      }));
    }
    for (const Glare& g : settings.glare) {
      glare.push_back(makeOverlay(g.x, g.y, 3 * g.radiusPx, [&g](double distance) {
        // Falls like a Gaussian and ends at zero, without a step at the border of the picture.
        const double q = distance / g.radiusPx;
        return g.level * std::max(0.0, std::exp(-q * q) - std::exp(-9.0)) / (1 - std::exp(-9.0));
      }));
    }
  }

  /// Sets up the frame's geometry.
  void begin(const SceneState& state) {
    const View view(scene.cameras[camera], state.cameras[camera]);
    const View rest(scene.cameras[camera], CameraState{});
    const Vec3 origin = add(scene.tissue.origin, state.tissueShiftM);
    const ImagePoint now = view.project(origin), then = rest.project(scene.tissue.origin);
    constexpr double kLimit = TissueCanvas::kMargin - 2;
    pose = {std::clamp(now.x - then.x, -kLimit, kLimit), std::clamp(now.y - then.y, -kLimit, kLimit),
            PlaneDepth(view, origin, scene.tissue.normal), scene.dofM};
    plateInView = state.plate.has_value();
    if (state.plate)
      plate.prepare(*state.plate, view, scene.dofM);
    else
      painter.prepare(state.segments, view, origin, scene.tissue.normal, scene.dofM);
  }

  /// Reflectance, glare and dust of one row, in `line`.
  void drawRow(int y, int x, int count) {
    if (plateInView) {
      plate.row(y, x, count, line.data());
    } else {
      canvas.row(pose, y, x, count, line.data());
      painter.row(y, x, count, line.data());
    }
    for (const Overlay& overlay : glare)
      overRow(overlay, y, x, count, line.data(), [](float& value, float more) { value += more; });
    for (const Overlay& overlay : dust)
      overRow(overlay, y, x, count, line.data(), [](float& value, float share) { value *= share; });
  }

  Scene scene;
  std::size_t camera;
  std::shared_ptr<const NoiseTile> noise;
  TissueCanvas canvas;
  BodyPainter painter;
  /// Instead of tissue and bodies while it is mounted.
  PlatePainter plate;
  bool plateInView = false;
  std::vector<Overlay> dust;
  std::vector<Overlay> glare;
  TissueCanvas::Pose pose{
      0, 0, PlaneDepth(View(scene.cameras[camera], CameraState{}), scene.tissue.origin, scene.tissue.normal),
      scene.dofM};
  std::array<float, kSensorSize + 4> line{};
};

Renderer::Renderer(const Scene& scene, std::size_t camera, std::shared_ptr<const NoiseTile> noise) {
  if (camera >= scene.cameras.size()) throw SceneError("scene: there is no camera " + std::to_string(camera));
  parts_ = std::make_unique<Parts>(scene, camera, std::move(noise));
}

Renderer::~Renderer() = default;

namespace {
void check(const Region& region) {
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
      region.x + region.width > kSensorSize || region.y + region.height > kSensorSize)
    throw std::invalid_argument("the region lies outside the sensor");
}
}  // namespace

void Renderer::render(const SceneState& state, const Shot& shot, std::uint8_t* out) {
  const Region& region = shot.region;
  check(region);
  Parts& p = *parts_;
  p.begin(state);
  const Sensor& sensor = p.scene.sensor;
  const SensorModel model = sensorModel(sensor, shot.exposureUs, shot.gainRaw, state.light);
  // Distances in units of centre to corner.
  const double unit = View::kCentre * std::sqrt(2.0);
  SensorRow row{};
  row.electrons = static_cast<float>(model.electronsPerReflectance);
  row.vignetting = static_cast<float>(p.scene.cameras[p.camera].vignetting);
  row.dx0 = static_cast<float>((region.x - View::kCentre) / unit);
  row.dxStep = static_cast<float>(1 / unit);
  row.readVariance = static_cast<float>(sensor.readNoiseE * sensor.readNoiseE);
  row.noiseScale = 1 / NoiseTile::kSigmaCounts;
  row.fullWell = static_cast<float>(sensor.fullWellE);
  row.greyPerElectron = static_cast<float>(model.greyPerElectron);
  row.blackLevel = static_cast<float>(sensor.blackLevel);
  row.compression = p.scene.model == ImageModel::kDisc ? static_cast<float>(kCompression) : 0.0f;
  row.whiteGrey = static_cast<float>(255 - sensor.blackLevel);
  for (int j = 0; j < region.height; ++j) {
    const int y = region.y + j;
    p.drawRow(y, region.x, region.width);
    const double dy = (y - View::kCentre) / unit;
    row.dy2 = static_cast<float>(dy * dy);
    senseRow(row, p.line.data(), p.noise->row(p.camera, shot.frameNumber, y),
             out + static_cast<std::size_t>(j) * static_cast<std::size_t>(region.width), region.width);
  }
}

void Renderer::renderReflectance(const SceneState& state, const Region& region, float* out) {
  check(region);
  Parts& p = *parts_;
  p.begin(state);
  for (int j = 0; j < region.height; ++j) {
    p.drawRow(region.y + j, region.x, region.width);
    std::copy_n(p.line.begin(), region.width,
                out + static_cast<std::size_t>(j) * static_cast<std::size_t>(region.width));
  }
}

}  // namespace surgiclaw::optics
