// geometry: measurements on frames, each in a native thread, thin over native/geometry.
#include <napi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
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

#ifdef SURGICLAW_HAS_GEOMETRY

Napi::Object needleToJs(Napi::Env env, const geometry::NeedleEstimate& needle) {
  Napi::Object object = objectOf(env, {{"tipX", needle.tipX},
                                       {"tipY", needle.tipY},
                                       {"directionX", needle.directionX},
                                       {"directionY", needle.directionY},
                                       {"widthPx", needle.widthPx},
                                       {"edgeSigmaPx", needle.edgeSigmaPx},
                                       {"sharpestPx", needle.sharpestPx},
                                       {"tipSigmaPx", needle.tipSigmaPx},
                                       {"angleSigmaRad", needle.angleSigmaRad},
                                       {"confidence", needle.confidence}});
  object.Set("found", needle.found);
  object.Set("reason", needle.reason);
  return object;
}

geometry::NeedleEstimate needleFromJs(const Napi::Value& value, const std::string& what) {
  const Members members(value, what);
  geometry::NeedleEstimate needle;
  needle.found = members.flag("found");
  needle.tipX = members.number("tipX");
  needle.tipY = members.number("tipY");
  needle.directionX = members.number("directionX");
  needle.directionY = members.number("directionY");
  needle.widthPx = members.number("widthPx");
  needle.edgeSigmaPx = members.number("edgeSigmaPx");
  needle.tipSigmaPx = members.number("tipSigmaPx");
  needle.angleSigmaRad = members.number("angleSigmaRad");
  needle.confidence = members.number("confidence");
  return needle;
}

namespace {

/// Runs `work` on the pixels of the frame in the first argument, which it keeps until it is done.
template <typename Work, typename ToJs>
Napi::Value onFrame(const Napi::CallbackInfo& info, Work work, ToJs toJs) {
  const std::shared_ptr<grabber::FrameLease> frame = frameOf(info[0], "frame");
  return runOn(
      Environment::of(info.Env()).vision(), info.Env(),
      [frame, work = std::move(work)] {
        const grabber::FrameInfo& f = frame->info();
        return work(geometry::ImageView{f.pixels, f.width, f.height, f.stride});
      },
      std::move(toJs));
}

geometry::Roi roiFromJs(const Napi::Value& value, const std::string& what) {
  if (value.IsUndefined()) return {};
  const Members members(value, what);
  constexpr int kFar = 1 << 20;
  geometry::Roi roi;
  roi.x = members.integer("x", -kFar, kFar);
  roi.y = members.integer("y", -kFar, kFar);
  roi.width = members.integer("width", 1, kFar);
  roi.height = members.integer("height", 1, kFar);
  return roi;
}

/// Where something is looked for: arguments x, y, radius from the `first` on.
struct Search {
  Search(const Napi::CallbackInfo& info, size_t first)
      : x(requireNumber(info[first], "x")),
        y(requireNumber(info[first + 1], "y")),
        radius(requireNumber(info[first + 2], "radius", 0, 65535)) {}
  double x;
  double y;
  double radius;
};

Napi::Value measureImage(const Napi::CallbackInfo& info) {
  return onFrame(
      info,
      [roi = roiFromJs(info[1], "roi")](const geometry::ImageView& image) {
        return geometry::measureImage(image, roi);
      },
      [](Napi::Env env, const geometry::ImageMetrics& m) {
        return objectOf(env, {{"mean", m.mean},
                              {"p01", m.p01},
                              {"p50", m.p50},
                              {"p99", m.p99},
                              {"clippedLow", m.clippedLow},
                              {"clippedHigh", m.clippedHigh},
                              {"brenner", m.brenner},
                              {"tenengrad", m.tenengrad}});
      });
}

Napi::Value findNeedle(const Napi::CallbackInfo& info) {
  geometry::NeedleSearchOptions options;
  if (!info[1].IsUndefined()) options.roi = roiFromJs(Members(info[1], "options").at("roi"), "options.roi");
  return onFrame(
      info, [options](const geometry::ImageView& image) { return geometry::findNeedle(image, options); },
      needleToJs);
}

Napi::Value trackNeedle(const Napi::CallbackInfo& info) {
  return onFrame(
      info,
      [prior = needleFromJs(info[1], "prior")](const geometry::ImageView& image) {
        return geometry::trackNeedle(image, prior);
      },
      needleToJs);
}

/// Synchronous: a patch is a few hundred bytes.
Napi::Value cutPatch(const Napi::CallbackInfo& info) {
  const std::shared_ptr<grabber::FrameLease> frame = frameOf(info[0], "frame");
  const double x = requireNumber(info[1], "x");
  const double y = requireNumber(info[2], "y");
  const int width = requireInteger(info[3], "width", 1, 1024);
  const int height = requireInteger(info[4], "height", 1, 1024);
  std::array<double, 4> affine{1, 0, 0, 1};
  if (!info[5].IsUndefined()) affine = requireNumbers<4>(info[5], "affine");
  const grabber::FrameInfo& f = frame->info();
  const geometry::Patch patch =
      geometry::cutPatch({f.pixels, f.width, f.height, f.stride}, x, y, width, height, affine);
  Napi::Object object = objectOf(info.Env(), {{"width", static_cast<double>(patch.width)},
                                              {"height", static_cast<double>(patch.height)}});
  Napi::Uint8Array pixels = Napi::Uint8Array::New(info.Env(), patch.pixels.size());
  std::copy(patch.pixels.begin(), patch.pixels.end(), pixels.Data());
  object.Set("pixels", pixels);
  return object;
}

geometry::Patch patchFromJs(const Napi::Value& value) {
  const Members members(value, "patch");
  geometry::Patch patch;
  patch.width = members.integer("width", 1, 1024);
  patch.height = members.integer("height", 1, 1024);
  const Napi::Value pixels = members.at("pixels");
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
  return onFrame(
      info,
      [patch = patchFromJs(info[1]), at = Search(info, 2)](const geometry::ImageView& image) {
        return geometry::matchPatch(image, patch.view(), at.x, at.y, at.radius);
      },
      [](Napi::Env env, const geometry::PatchMatch& match) {
        Napi::Object object = objectOf(
            env,
            {{"x", match.x}, {"y", match.y}, {"score", match.score}, {"distinctness", match.distinctness}});
        object.Set("found", match.found);
        return object;
      });
}

geometry::RingModel ringModelFromJs(const Napi::Value& value) {
  const Members members(value, "expected");
  const auto pair = [&](const char* key, double(&into)[2]) {
    const auto numbers = members.numbers<2>(key);
    std::copy(numbers.begin(), numbers.end(), into);
  };
  geometry::RingModel model;
  pair("halfAxisA", model.halfAxisA);
  pair("halfAxisB", model.halfAxisB);
  pair("ribbonDirection", model.ribbonDirection);
  model.wirePx = members.number("wirePx", 0, 1024);
  model.ribbonWidthPx = members.number("ribbonWidthPx", 0, 1024);
  return model;
}

Napi::Value findRing(const Napi::CallbackInfo& info) {
  return onFrame(
      info,
      [at = Search(info, 1), model = ringModelFromJs(info[4])](const geometry::ImageView& image) {
        return geometry::findRing(image, at.x, at.y, at.radius, model);
      },
      [](Napi::Env env, const geometry::RingEstimate& ring) {
        Napi::Object object = objectOf(env, {{"x", ring.x},
                                             {"y", ring.y},
                                             {"sigmaPx", ring.sigmaPx},
                                             {"edgeSigmaPx", ring.edgeSigmaPx},
                                             {"confidence", ring.confidence}});
        object.Set("found", ring.found);
        object.Set("reason", ring.reason);
        return object;
      });
}

Napi::Value findSites(const Napi::CallbackInfo& info) {
  return onFrame(
      info,
      [roi = roiFromJs(info[1], "roi")](const geometry::ImageView& image) {
        return geometry::findSites(image, roi);
      },
      [](Napi::Env env, const std::vector<geometry::SiteCandidate>& sites) {
        Napi::Array array = Napi::Array::New(env, sites.size());
        for (uint32_t i = 0; i < sites.size(); ++i) {
          const geometry::SiteCandidate& site = sites[i];
          array.Set(i, objectOf(env, {{"x", site.x},
                                      {"y", site.y},
                                      {"vesselDistancePx", site.vesselDistancePx},
                                      {"texture", site.texture}}));
        }
        return array;
      });
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
  auto result = objectOf(env, {{"fre", fit.fre}});
  result.Set("rotation", rotation);
  result.Set("translation", translation);
  return result;
}

}  // namespace

#endif

void initGeometry(Napi::Env env, Napi::Object exports) {
  Napi::Object geometry = Napi::Object::New(env);
  addImageFunctions(env, geometry);
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
