// geometry: measurements on frames, each in a native thread, thin over native/geometry.
#include <napi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "surgiclaw/grabber/sha256.h"
#ifdef SURGICLAW_HAS_GEOMETRY
#include "surgiclaw/geometry/image_metrics.h"
#include "surgiclaw/geometry/image_view.h"
#include "surgiclaw/geometry/needle.h"
#include "surgiclaw/geometry/patch_match.h"
#include "surgiclaw/geometry/registration.h"
#include "surgiclaw/geometry/ring.h"
#include "surgiclaw/geometry/sites.h"
#endif

namespace surgiclaw::cell {

namespace {

using Frame = std::shared_ptr<grabber::FrameLease>;

Lane& vision(Napi::Env env) { return Environment::of(env).vision(); }

Napi::Value encodeJpeg(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const int quality = requireInteger(info[1], "quality", 0, 100);
  const int reduce = requireInteger(info[2], "reduce", 1, 64);
  return runOn(
      vision(info.Env()), info.Env(),
      [frame, quality, reduce] {
        const grabber::FrameInfo& f = frame->info();
        cv::Mat image(f.height, f.width, CV_8UC1, const_cast<uint8_t*>(f.pixels),
                      static_cast<size_t>(f.stride));
        if (reduce > 1) {
          cv::Mat reduced;
          const cv::Size size(std::max(1, f.width / reduce), std::max(1, f.height / reduce));
          cv::resize(image, reduced, size, 0, 0, cv::INTER_AREA);
          image = reduced;
        }
        std::vector<uint8_t> bytes;
        if (!cv::imencode(".jpg", image, bytes, {cv::IMWRITE_JPEG_QUALITY, quality})) {
          throw CodedError("INTERNAL", "the JPEG encoder gave nothing");
        }
        return bytes;
      },
      [](Napi::Env env, const std::vector<uint8_t>& bytes) {
        return Napi::Buffer<uint8_t>::Copy(env, bytes.data(), bytes.size());
      });
}

Napi::Value hashFrame(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  return runOn(
      vision(info.Env()), info.Env(),
      [frame] {
        const grabber::FrameInfo& f = frame->info();
        // Rows follow each other without gaps: a source delivers stride = width.
        return grabber::toHex(
            grabber::sha256(f.pixels, static_cast<size_t>(f.stride) * static_cast<size_t>(f.height)));
      },
      [](Napi::Env env, const std::string& hex) { return Napi::String::New(env, hex); });
}

#ifdef SURGICLAW_HAS_GEOMETRY

geometry::ImageView viewOf(const Frame& frame) {
  const grabber::FrameInfo& f = frame->info();
  return {f.pixels, f.width, f.height, f.stride};
}

geometry::Roi roiFromJs(const Napi::Value& value, const std::string& what) {
  if (value.IsUndefined()) return {};
  const Napi::Object object = requireObject(value, what);
  constexpr int kFar = 1 << 20;
  geometry::Roi roi;
  roi.x = requireInteger(object.Get("x"), what + ".x", -kFar, kFar);
  roi.y = requireInteger(object.Get("y"), what + ".y", -kFar, kFar);
  roi.width = requireInteger(object.Get("width"), what + ".width", 1, kFar);
  roi.height = requireInteger(object.Get("height"), what + ".height", 1, kFar);
  return roi;
}

void pairFromJs(const Napi::Value& value, const std::string& what, double (&pair)[2]) {
  const Napi::Array array = requireArray(value, what, 2);
  for (uint32_t i = 0; i < 2; ++i)
    pair[i] = requireNumber(array.Get(i), what + "[" + std::to_string(i) + "]");
}

Napi::Value measureImage(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const geometry::Roi roi = roiFromJs(info[1], "roi");
  return runOn(
      vision(info.Env()), info.Env(), [frame, roi] { return geometry::measureImage(viewOf(frame), roi); },
      [](Napi::Env env, const geometry::ImageMetrics& m) {
        Napi::Object object = Napi::Object::New(env);
        object.Set("mean", m.mean);
        object.Set("p01", m.p01);
        object.Set("p50", m.p50);
        object.Set("p99", m.p99);
        object.Set("clippedLow", m.clippedLow);
        object.Set("clippedHigh", m.clippedHigh);
        object.Set("brenner", m.brenner);
        object.Set("tenengrad", m.tenengrad);
        return object;
      });
}

Napi::Value findNeedle(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  geometry::NeedleSearchOptions options;
  if (!info[1].IsUndefined())
    options.roi = roiFromJs(requireObject(info[1], "options").Get("roi"), "options.roi");
  return runOn(
      vision(info.Env()), info.Env(),
      [frame, options] { return geometry::findNeedle(viewOf(frame), options); }, needleToJs);
}

Napi::Value trackNeedle(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const geometry::NeedleEstimate prior = needleFromJs(info[1], "prior");
  return runOn(
      vision(info.Env()), info.Env(), [frame, prior] { return geometry::trackNeedle(viewOf(frame), prior); },
      needleToJs);
}

Napi::Value cutPatch(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const double x = requireNumber(info[1], "x");
  const double y = requireNumber(info[2], "y");
  const int width = requireInteger(info[3], "width", 1, 1024);
  const int height = requireInteger(info[4], "height", 1, 1024);
  std::array<double, 4> affine{1, 0, 0, 1};
  if (!info[5].IsUndefined()) {
    const Napi::Array array = requireArray(info[5], "affine", 4);
    for (uint32_t i = 0; i < 4; ++i)
      affine[i] = requireNumber(array.Get(i), "affine[" + std::to_string(i) + "]");
  }
  const geometry::Patch patch = geometry::cutPatch(viewOf(frame), x, y, width, height, affine);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("width", patch.width);
  object.Set("height", patch.height);
  Napi::Uint8Array pixels = Napi::Uint8Array::New(info.Env(), patch.pixels.size());
  std::copy(patch.pixels.begin(), patch.pixels.end(), pixels.Data());
  object.Set("pixels", pixels);
  return object;
}

geometry::Patch patchFromJs(const Napi::Value& value) {
  const Napi::Object object = requireObject(value, "patch");
  geometry::Patch patch;
  patch.width = requireInteger(object.Get("width"), "patch.width", 1, 1024);
  patch.height = requireInteger(object.Get("height"), "patch.height", 1, 1024);
  const Napi::Value pixels = object.Get("pixels");
  if (!pixels.IsTypedArray() || pixels.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    throw Napi::TypeError::New(value.Env(), "patch.pixels must be a Uint8Array");
  }
  const Napi::Uint8Array bytes = pixels.As<Napi::Uint8Array>();
  if (bytes.ElementLength() != static_cast<size_t>(patch.width) * static_cast<size_t>(patch.height)) {
    throw Napi::RangeError::New(value.Env(), "patch.pixels must hold width × height bytes");
  }
  patch.pixels.assign(bytes.Data(), bytes.Data() + bytes.ElementLength());
  return patch;
}

Napi::Value matchPatch(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  auto patch = std::make_shared<geometry::Patch>(patchFromJs(info[1]));
  const double x = requireNumber(info[2], "x");
  const double y = requireNumber(info[3], "y");
  const double radius = requireNumber(info[4], "radius", 0, 65535);
  return runOn(
      vision(info.Env()), info.Env(),
      [frame, patch, x, y, radius] {
        return geometry::matchPatch(viewOf(frame), patch->view(), x, y, radius);
      },
      [](Napi::Env env, const geometry::PatchMatch& match) {
        Napi::Object object = Napi::Object::New(env);
        object.Set("found", match.found);
        object.Set("x", match.x);
        object.Set("y", match.y);
        object.Set("score", match.score);
        object.Set("distinctness", match.distinctness);
        return object;
      });
}

geometry::RingModel ringModelFromJs(const Napi::Value& value) {
  const Napi::Object object = requireObject(value, "expected");
  geometry::RingModel model;
  pairFromJs(object.Get("halfAxisA"), "expected.halfAxisA", model.halfAxisA);
  pairFromJs(object.Get("halfAxisB"), "expected.halfAxisB", model.halfAxisB);
  model.wirePx = requireNumber(object.Get("wirePx"), "expected.wirePx", 0, 1024);
  pairFromJs(object.Get("ribbonDirection"), "expected.ribbonDirection", model.ribbonDirection);
  model.ribbonWidthPx = requireNumber(object.Get("ribbonWidthPx"), "expected.ribbonWidthPx", 0, 1024);
  return model;
}

Napi::Value findRing(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const double x = requireNumber(info[1], "x");
  const double y = requireNumber(info[2], "y");
  const double radius = requireNumber(info[3], "radius", 0, 65535);
  const geometry::RingModel model = ringModelFromJs(info[4]);
  return runOn(
      vision(info.Env()), info.Env(),
      [frame, x, y, radius, model] { return geometry::findRing(viewOf(frame), x, y, radius, model); },
      [](Napi::Env env, const geometry::RingEstimate& ring) {
        Napi::Object object = Napi::Object::New(env);
        object.Set("found", ring.found);
        object.Set("reason", ring.reason);
        object.Set("x", ring.x);
        object.Set("y", ring.y);
        object.Set("sigmaPx", ring.sigmaPx);
        object.Set("edgeSigmaPx", ring.edgeSigmaPx);
        object.Set("confidence", ring.confidence);
        return object;
      });
}

Napi::Value findSites(const Napi::CallbackInfo& info) {
  const Frame frame = frameOf(info[0], "frame");
  const geometry::Roi roi = roiFromJs(info[1], "roi");
  return runOn(
      vision(info.Env()), info.Env(), [frame, roi] { return geometry::findSites(viewOf(frame), roi); },
      [](Napi::Env env, const std::vector<geometry::SiteCandidate>& sites) {
        Napi::Array array = Napi::Array::New(env, sites.size());
        for (size_t i = 0; i < sites.size(); ++i) {
          Napi::Object object = Napi::Object::New(env);
          object.Set("x", sites[i].x);
          object.Set("y", sites[i].y);
          object.Set("vesselDistancePx", sites[i].vesselDistancePx);
          object.Set("texture", sites[i].texture);
          array.Set(static_cast<uint32_t>(i), object);
        }
        return array;
      });
}

#endif

}  // namespace

#ifdef SURGICLAW_HAS_GEOMETRY

Napi::Object needleToJs(Napi::Env env, const geometry::NeedleEstimate& needle) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("found", needle.found);
  object.Set("reason", needle.reason);
  object.Set("tipX", needle.tipX);
  object.Set("tipY", needle.tipY);
  object.Set("directionX", needle.directionX);
  object.Set("directionY", needle.directionY);
  object.Set("widthPx", needle.widthPx);
  object.Set("edgeSigmaPx", needle.edgeSigmaPx);
  object.Set("tipSigmaPx", needle.tipSigmaPx);
  object.Set("angleSigmaRad", needle.angleSigmaRad);
  object.Set("confidence", needle.confidence);
  return object;
}

geometry::NeedleEstimate needleFromJs(const Napi::Value& value, const std::string& what) {
  const Napi::Object object = requireObject(value, what);
  const auto number = [&](const char* key) { return requireNumber(object.Get(key), what + "." + key); };
  geometry::NeedleEstimate needle;
  needle.found = requireBoolean(object.Get("found"), what + ".found");
  needle.tipX = number("tipX");
  needle.tipY = number("tipY");
  needle.directionX = number("directionX");
  needle.directionY = number("directionY");
  needle.widthPx = number("widthPx");
  needle.edgeSigmaPx = number("edgeSigmaPx");
  needle.tipSigmaPx = number("tipSigmaPx");
  needle.angleSigmaRad = number("angleSigmaRad");
  needle.confidence = number("confidence");
  return needle;
}

std::vector<Eigen::Vector3d> pointsOf(const Napi::Value& value, const char* name) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) {
    throw Napi::TypeError::New(value.Env(), std::string(name) + ": a Float64Array of x y z is needed");
  }
  const auto array = value.As<Napi::Float64Array>();
  if (array.ElementLength() % 3 != 0) {
    throw Napi::TypeError::New(value.Env(), std::string(name) + ": its length is no multiple of 3");
  }
  std::vector<Eigen::Vector3d> points(array.ElementLength() / 3);
  for (size_t i = 0; i < points.size(); ++i) points[i] = {array[3 * i], array[3 * i + 1], array[3 * i + 2]};
  return points;
}

/// Synchronous: microseconds for the handful of points of a registration.
Napi::Value registerRigid(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto fit = geometry::fitRigid(pointsOf(info[0], "source"), pointsOf(info[1], "target"));
  if (!fit.ok) throw Napi::Error::New(env, std::string("registration: ") + fit.reason);
  auto rotation = Napi::Array::New(env, 9);
  auto translation = Napi::Array::New(env, 3);
  for (uint32_t r = 0; r < 3; ++r) {
    for (uint32_t c = 0; c < 3; ++c) rotation.Set(3 * r + c, fit.targetFromSource.R(r, c));
    translation.Set(r, fit.targetFromSource.t[r]);
  }
  auto result = Napi::Object::New(env);
  result.Set("rotation", rotation);
  result.Set("translation", translation);
  result.Set("fre", fit.fre);
  return result;
}

#endif

void initGeometry(Napi::Env env, Napi::Object exports) {
  Napi::Object geometry = Napi::Object::New(env);
  geometry.Set("encodeJpeg", Napi::Function::New<encodeJpeg>(env, "encodeJpeg"));
  geometry.Set("hashFrame", Napi::Function::New<hashFrame>(env, "hashFrame"));
#ifdef SURGICLAW_HAS_GEOMETRY
  geometry.Set("measureImage", Napi::Function::New<measureImage>(env, "measureImage"));
  geometry.Set("findNeedle", Napi::Function::New<findNeedle>(env, "findNeedle"));
  geometry.Set("trackNeedle", Napi::Function::New<trackNeedle>(env, "trackNeedle"));
  geometry.Set("cutPatch", Napi::Function::New<cutPatch>(env, "cutPatch"));
  geometry.Set("matchPatch", Napi::Function::New<matchPatch>(env, "matchPatch"));
  geometry.Set("findRing", Napi::Function::New<findRing>(env, "findRing"));
  geometry.Set("registerRigid", Napi::Function::New<registerRigid>(env, "registerRigid"));
  geometry.Set("findSites", Napi::Function::New<findSites>(env, "findSites"));
#endif
  exports.Set("geometry", geometry);
}

}  // namespace surgiclaw::cell
