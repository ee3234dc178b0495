#include "surgiclaw/optics/scene.h"

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::optics {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw SceneError("scene: " + where + ": " + what);
}

/// One JSON object under inspection, with the path that error messages name.
class Object {
 public:
  Object(const Json& json, std::string where, std::initializer_list<const char*> known)
      : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail(where_, "expected an object");
    for (const auto& [key, value] : json_.items()) {
      bool found = false;
      for (const char* name : known) found = found || key == name;
      if (!found) fail(path(key), "unknown key");
    }
  }

  [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }
  [[nodiscard]] std::string path(const std::string& key) const {
    return where_ == "/" ? key : where_ + "." + key;
  }

  [[nodiscard]] const Json& at(const char* key) const {
    if (!has(key)) fail(path(key), "missing");
    return json_.at(key);
  }

  /// A finite number in [low, high].
  [[nodiscard]] double number(const char* key, double low, double high) const {
    return checked(at(key), path(key), low, high);
  }
  [[nodiscard]] double number(const char* key, double low, double high, double otherwise) const {
    return has(key) ? number(key, low, high) : otherwise;
  }

  [[nodiscard]] std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string() || value.get<std::string>().empty()) fail(path(key), "expected a text");
    return value.get<std::string>();
  }

  [[nodiscard]] Vec3 vector(const char* key) const { return vectorOf(at(key), path(key)); }

  [[nodiscard]] Vec3 direction(const char* key, double tolerance) const {
    const Vec3 value = vector(key);
    if (std::abs(std::sqrt(dot(value, value)) - 1) > tolerance) fail(path(key), "expected a unit vector");
    return value;
  }

  /// Calls `use(element, path)` for each element of an optional list.
  template <typename Use>
  void each(const char* key, Use use) const {
    if (!has(key)) return;
    const Json& list = at(key);
    if (!list.is_array()) fail(path(key), "expected a list");
    for (std::size_t i = 0; i < list.size(); ++i) use(list[i], path(key) + "[" + std::to_string(i) + "]");
  }

  static double checked(const Json& value, const std::string& where, double low, double high) {
    if (!value.is_number()) fail(where, "expected a number");
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < low || number > high) {
      fail(where, "expected a number from " + std::to_string(low) + " to " + std::to_string(high) + ", not " +
                      value.dump());
    }
    return number;
  }

  static Vec3 vectorOf(const Json& value, const std::string& where) {
    if (!value.is_array() || value.size() != 3) fail(where, "expected three numbers");
    Vec3 result{};
    for (std::size_t i = 0; i < 3; ++i) result[i] = checked(value[i], where, -1e3, 1e3);
    return result;
  }

 private:
  const Json& json_;
  std::string where_;
};

std::array<Vec3, 3> rotationOf(const Json& value, const std::string& where) {
  if (!value.is_array() || value.size() != 3) fail(where, "expected three rows of three numbers");
  std::array<Vec3, 3> rows{};
  for (std::size_t i = 0; i < 3; ++i)
    rows[i] = Object::vectorOf(value[i], where + "[" + std::to_string(i) + "]");
  constexpr double kTolerance = 1e-6;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = i; j < 3; ++j) {
      if (std::abs(dot(rows[i], rows[j]) - (i == j ? 1 : 0)) > kTolerance)
        fail(where, "expected an orthonormal matrix");
    }
  }
  if (dot(cross(rows[0], rows[1]), rows[2]) < 0)
    fail(where, "expected a right-handed frame (determinant +1)");
  return rows;
}

CameraScene cameraOf(const Json& json, const std::string& where) {
  const Object o(json, where,
                 {"serial", "address", "rotation", "focusPointM", "metresPerPixel", "focusDirection",
                  "startExposureUs", "startGainRaw", "vignetting", "frameRate", "dust", "glare"});
  CameraScene camera;
  camera.serial = o.text("serial");
  // The bootstrap register that holds the serial number has 16 bytes, one of them the end mark.
  if (camera.serial.size() > 15) fail(o.path("serial"), "at most 15 characters");
  camera.address = o.text("address");
  camera.rotation = rotationOf(o.at("rotation"), o.path("rotation"));
  camera.focusPointM = o.vector("focusPointM");
  camera.metresPerPixel = o.number("metresPerPixel", 1e-8, 1e-3);
  camera.focusDirection = o.direction("focusDirection", 0.05);
  camera.startExposureUs = o.number("startExposureUs", 10, 1e7);
  camera.startGainRaw = static_cast<int>(std::lround(o.number("startGainRaw", 0, 10, 0)));
  camera.vignetting = o.number("vignetting", 0, 1, 0.25);
  camera.frameRate = o.number("frameRate", 0.1, 1000, 20);
  o.each("dust", [&](const Json& item, const std::string& at) {
    const Object d(item, at, {"x", "y", "radiusPx", "darkness"});
    camera.dust.push_back({d.number("x", -1e4, 1e4), d.number("y", -1e4, 1e4), d.number("radiusPx", 0.1, 1e3),
                           d.number("darkness", 0, 1)});
  });
  o.each("glare", [&](const Json& item, const std::string& at) {
    const Object g(item, at, {"x", "y", "radiusPx", "level"});
    camera.glare.push_back({g.number("x", -1e4, 1e4), g.number("y", -1e4, 1e4),
                            g.number("radiusPx", 0.1, 2e3), g.number("level", 0, 100)});
  });
  return camera;
}

Tissue tissueOf(const Json& json) {
  const Object o(
      json, "tissue",
      {"origin", "normal", "uAxis", "reflectance", "textureContrast", "vessels", "marks", "fluid"});
  Tissue tissue;
  tissue.origin = o.vector("origin");
  tissue.normal = o.direction("normal", 1e-6);
  tissue.uAxis = o.direction("uAxis", 1e-6);
  if (std::abs(dot(tissue.normal, tissue.uAxis)) > 1e-6)
    fail("tissue.uAxis", "expected a direction in the plane, at right angles to the normal");
  tissue.reflectance = o.number("reflectance", 0, 1);
  tissue.textureContrast = o.number("textureContrast", 0, 1);
  o.each("vessels", [&](const Json& item, const std::string& at) {
    const Object v(item, at, {"points", "radiusM", "darkness"});
    Vessel vessel;
    v.each("points", [&](const Json& point, const std::string& where) {
      if (!point.is_array() || point.size() != 2) fail(where, "expected [u, v] in metres");
      vessel.points.push_back(
          {Object::checked(point[0], where, -1, 1), Object::checked(point[1], where, -1, 1)});
    });
    if (vessel.points.size() < 2) fail(v.path("points"), "expected at least two points");
    vessel.radiusM = v.number("radiusM", 1e-7, 1e-2);
    vessel.darkness = v.number("darkness", 0, 1);
    tissue.vessels.push_back(std::move(vessel));
  });
  o.each("marks", [&](const Json& item, const std::string& at) {
    const Object m(item, at, {"u", "v", "radiusM", "darkness"});
    tissue.marks.push_back({{m.number("u", -1, 1), m.number("v", -1, 1)},
                            m.number("radiusM", 1e-7, 1e-2),
                            m.number("darkness", 0, 1)});
  });
  o.each("fluid", [&](const Json& item, const std::string& at) {
    const Object f(item, at, {"u", "v", "radiusM", "strength"});
    tissue.fluid.push_back({{f.number("u", -1, 1), f.number("v", -1, 1)},
                            f.number("radiusM", 1e-7, 1e-2),
                            f.number("strength", 0, 1)});
  });
  return tissue;
}

Sensor sensorOf(const Json& json) {
  const Object o(json, "sensor", {"fullWellE", "readNoiseE", "properExposureUs", "blackLevel"});
  Sensor sensor;
  sensor.fullWellE = o.number("fullWellE", 100, 1e7, sensor.fullWellE);
  sensor.readNoiseE = o.number("readNoiseE", 0, 1e4, sensor.readNoiseE);
  sensor.properExposureUs = o.number("properExposureUs", 10, 1e7, sensor.properExposureUs);
  sensor.blackLevel = o.number("blackLevel", 0, 100, sensor.blackLevel);
  return sensor;
}

}  // namespace

Scene parseScene(const std::string& text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw SceneError(std::string("scene: not JSON: ") + error.what());
  }
  const Object o(json, "/", {"seed", "model", "cameras", "tissue", "sensor", "dofM"});
  Scene scene;
  scene.seed = static_cast<std::uint32_t>(o.number("seed", 0, 4294967295.0));
  if (o.has("model")) {
    const std::string model = o.text("model");
    if (model == "disc")
      scene.model = ImageModel::kDisc;
    else if (model != "gaussian")
      fail("model", "expected \"gaussian\" or \"disc\", not \"" + model + "\"");
  }
  o.each("cameras",
         [&](const Json& item, const std::string& where) { scene.cameras.push_back(cameraOf(item, where)); });
  if (scene.cameras.empty() || scene.cameras.size() > kMaxCameras)
    fail("cameras", "expected 1 to " + std::to_string(kMaxCameras) + " cameras");
  scene.tissue = tissueOf(o.at("tissue"));
  if (o.has("sensor")) scene.sensor = sensorOf(o.at("sensor"));
  scene.dofM = o.number("dofM", 1e-6, 1, scene.dofM);
  for (std::size_t i = 0; i < scene.cameras.size(); ++i) {
    const CameraScene& camera = scene.cameras[i];
    const std::string where = "cameras[" + std::to_string(i) + "]";
    for (std::size_t j = 0; j < i; ++j) {
      if (scene.cameras[j].serial == camera.serial) fail(where + ".serial", "used twice");
      if (scene.cameras[j].address == camera.address) fail(where + ".address", "used twice");
    }
    if (dot(scene.tissue.normal, camera.rotation[2]) > -0.05)
      fail(where + ".rotation", "the camera does not look at the upper side of the tissue");
  }
  return scene;
}

Scene loadScene(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SceneError("scene: cannot read " + path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return parseScene(text);
}

}  // namespace surgiclaw::optics
