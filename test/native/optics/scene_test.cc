#include "surgiclaw/optics/scene.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace surgiclaw::optics {
namespace {

using Json = nlohmann::json;

Json minimal() {
  return Json::parse(R"({
    "seed": 7, "model": "disc",
    "cameras": [{"serial": "MIC1", "address": "127.0.0.2", "rotation": [[1,0,0],[0,-1,0],[0,0,-1]],
                 "focusPointM": [0,0,3e-4], "metresPerPixel": 1.17e-6, "focusDirection": [0,0,-1],
                 "startExposureUs": 8000, "dust": [{"x": 5, "y": 6, "radiusPx": 7, "darkness": 0.5}]}],
    "tissue": {"origin": [0,0,0], "normal": [0,0,1], "uAxis": [1,0,0], "reflectance": 0.5,
               "textureContrast": 0.25, "vessels": [{"points": [[0,0],[1e-4,2e-4]], "radiusM": 2e-5, "darkness": 0.4}]},
    "dofM": 6e-5})");
}

std::string errorOf(const Json& json) {
  try {
    parseScene(json.dump());
  } catch (const SceneError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Scene, ReadsWhatIsWritten) {
  const Scene scene = parseScene(minimal().dump());
  EXPECT_EQ(scene.seed, 7u);
  EXPECT_EQ(scene.model, ImageModel::kDisc);
  ASSERT_EQ(scene.cameras.size(), 1u);
  EXPECT_EQ(scene.cameras[0].serial, "MIC1");
  EXPECT_EQ(scene.cameras[0].rotation[1][1], -1);
  EXPECT_EQ(scene.cameras[0].startExposureUs, 8000);
  EXPECT_EQ(scene.cameras[0].dust.at(0).radiusPx, 7);
  EXPECT_EQ(scene.tissue.vessels.at(0).points.at(1).v, 2e-4);
  EXPECT_EQ(scene.dofM, 6e-5);
}

TEST(Scene, FillsInWhatMayBeLeftOut) {
  const Scene scene = parseScene(minimal().dump());
  EXPECT_EQ(scene.cameras[0].frameRate, 20);
  EXPECT_EQ(scene.cameras[0].startGainRaw, 0);
  EXPECT_EQ(scene.sensor.fullWellE, 10000);
  EXPECT_EQ(scene.sensor.readNoiseE, 5);
}

TEST(Scene, NamesTheKeyThatIsWrong) {
  Json json = minimal();
  json["cameras"][0]["exposure"] = 5;
  EXPECT_EQ(errorOf(json), "scene: cameras[0].exposure: unknown key");
  json = minimal();
  json["tissue"].erase("normal");
  EXPECT_EQ(errorOf(json), "scene: tissue.normal: missing");
  json = minimal();
  json["cameras"][0]["rotation"][0][0] = 0.9;
  EXPECT_EQ(errorOf(json), "scene: cameras[0].rotation: expected an orthonormal matrix");
  json = minimal();
  json["cameras"][0]["rotation"][1][1] = 1;
  EXPECT_EQ(errorOf(json), "scene: cameras[0].rotation: expected a right-handed frame (determinant +1)");
  json = minimal();
  json["cameras"][0]["focusPointM"][2] = "near";
  EXPECT_EQ(errorOf(json), "scene: cameras[0].focusPointM: expected a number");
  json = minimal();
  json["model"] = "airy";
  EXPECT_EQ(errorOf(json), "scene: model: expected \"gaussian\" or \"disc\", not \"airy\"");
  json = minimal();
  json["cameras"].push_back(json["cameras"][0]);
  EXPECT_EQ(errorOf(json), "scene: cameras[1].serial: used twice");
  json = minimal();
  json["tissue"]["normal"] = {0, 0, -1};
  EXPECT_EQ(errorOf(json),
            "scene: cameras[0].rotation: the camera does not look at the upper side of the tissue");
  EXPECT_EQ(errorOf(Json::array()), "scene: /: expected an object");
  EXPECT_THROW(parseScene("{"), SceneError);
  EXPECT_THROW(loadScene("/nowhere/scene.json"), SceneError);
}

}  // namespace
}  // namespace surgiclaw::optics
