// What does not change while the twin runs: cameras, tissue, sensor. Read from a JSON file.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace surgiclaw::optics {

using Vec3 = std::array<double, 3>;

inline double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline Vec3 add(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Vec3 subtract(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Vec3 scale(const Vec3& a, double k) { return {a[0] * k, a[1] * k, a[2] * k}; }

/// Pixels of the sensor, both ways; the fake camera of Aravis has exactly this size.
constexpr int kSensorSize = 2048;

/// Two independent models of image formation: detectors are tuned on one and accepted on the other.
enum class ImageModel {
  kGaussian,  ///< Gaussian point spread, linear sensor
  kDisc       ///< uniform disc of the same second moment, slightly compressive sensor
};

/// A speck on the sensor's window: stays where it is in the image. Pixels; darkness 0..1.
struct Dust {
  double x, y, radiusPx, darkness;
};

/// A reflection in the optics: stays where it is in the image. Pixels; level in units of reflectance.
struct Glare {
  double x, y, radiusPx, level;
};

/// One telecentric microscope. World frame in metres.
struct CameraScene {
  std::string serial;
  std::string address;
  /// Rows: image x (right), image y (down), optical axis (into the scene), all in the world frame.
  std::array<Vec3, 3> rotation;
  /// Imaged at the centre of the sensor, and on the focal plane, when the focus stage stands at 0.
  Vec3 focusPointM;
  double metresPerPixel;
  /// How the focal point moves in the world per metre of focus stage; not quite along the optical axis.
  Vec3 focusDirection;
  double startExposureUs;
  int startGainRaw;
  double vignetting;  ///< light lost in the corners, 0..1
  double frameRate;   ///< Hz, at power-up
  std::vector<Dust> dust;
  std::vector<Glare> glare;
};

/// In the plane of the tissue, metres.
struct PlanePoint {
  double u, v;
};

struct Vessel {
  std::vector<PlanePoint> points;
  double radiusM;
  double darkness;
};

struct Mark {
  PlanePoint centre;
  double radiusM;
  double darkness;
};

struct Fluid {
  PlanePoint centre;
  double radiusM;
  double strength;
};

/// A plane of tissue: point (u, v) lies at origin + u * uAxis + v * (normal x uAxis).
struct Tissue {
  Vec3 origin;
  Vec3 normal;
  Vec3 uAxis;
  double reflectance;
  double textureContrast;  ///< twice the relative standard deviation of the texture
  std::vector<Vessel> vessels;
  std::vector<Mark> marks;
  std::vector<Fluid> fluid;
};

struct Sensor {
  double fullWellE = 10000;
  double readNoiseE = 5;
  /// Exposure at which reflectance 0.5 gives a grey level of 110 in the image centre at gain 0.
  double properExposureUs = 10000;
  double blackLevel = 6;
};

struct Scene {
  std::uint32_t seed = 0;
  ImageModel model = ImageModel::kGaussian;
  std::vector<CameraScene> cameras;
  Tissue tissue;
  Sensor sensor;
  double dofM = 50e-6;
};

/// Says which key is wrong and what was expected there.
struct SceneError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads and checks a scene. Unknown keys are errors. @throws SceneError
Scene parseScene(const std::string& json);

/// @throws SceneError also when the file cannot be read
Scene loadScene(const std::string& path);

}  // namespace surgiclaw::optics
