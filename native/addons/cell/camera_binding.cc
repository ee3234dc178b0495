// Camera: open, grab, features, from JavaScript.
#include <napi.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "frame_waiter.h"
#include "lane.h"
#include "surgiclaw/grabber/camera.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::cell {

namespace {

constexpr napi_type_tag kCameraTag{0x2d4c6b8a90f1e3d5, 0x7b6a594837261504};

/// What lives as long as anything of a camera is under way, whether or not JavaScript still holds the object.
class CameraCore {
 public:
  explicit CameraCore(const grabber::CameraOptions& options)
      : camera(grabber::makeCamera(options)),
        waiter(std::make_shared<FrameWaiter>(camera)),
        lane("camera-" + options.name) {
    camera->onChange([weak = std::weak_ptr<FrameWaiter>(waiter)] {
      if (const auto alive = weak.lock()) alive->wake();
    });
  }
  ~CameraCore() { shutDown(); }
  CameraCore(const CameraCore&) = delete;
  CameraCore& operator=(const CameraCore&) = delete;

  /// Ends every thread of the camera. Blocks for as long as the device needs. Idempotent.
  void shutDown() {
    streaming.store(false);
    camera->cancel();
    lane.abandon();
    camera->close();
    waiter->stop();
  }

  const std::shared_ptr<grabber::Camera> camera;
  const std::shared_ptr<FrameWaiter> waiter;
  std::atomic<bool> streaming{false};
  // Destroyed first: its jobs use the others.
  Lane lane;
};

Napi::Value identityToJs(Napi::Env env, const grabber::CameraIdentity& identity) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("vendor", identity.vendor);
  object.Set("model", identity.model);
  object.Set("serial", identity.serial);
  return object;
}

grabber::CameraOptions optionsFromJs(const Napi::Value& value) {
  const Members members(value, "options");
  grabber::CameraOptions options;
  options.name = members.text("name");
  options.address = members.textOrNone("address");
  options.device = members.textOrNone("device");
  options.folder = members.textOrNone("folder");
  options.width = members.integer("width", 1, 65535);
  options.height = members.integer("height", 1, 65535);
  options.offsetX = members.integerOr("offsetX", 0, 0, 65535);
  options.offsetY = members.integerOr("offsetY", 0, 0, 65535);
  options.binning = members.integerOr("binning", 1, 1, 64);
  if (members.has("pixelFormat")) {
    const std::string name = members.text("pixelFormat");
    const auto format = grabber::pixelFormatNamed(name);
    if (!format) throw Napi::RangeError::New(value.Env(), "options.pixelFormat: " + name + " is not known");
    options.pixelFormat = *format;
  }
  options.triggerSource = members.textOrNone("triggerSource");
  options.triggerActivation = members.textOrNone("triggerActivation");
  options.frameRate = members.number("frameRate", 0.1, 1000);
  options.packetSize = members.integer("packetSize", 0, 65535);
  if (members.has("packetDelayUs")) options.packetDelayUs = members.number("packetDelayUs", 0, 1e5);
  options.ringSize = members.integer("ringSize", grabber::kMinRing, 1024);
  const std::string mode = members.text("mode");
  if (mode != "newest" && mode != "bounded") {
    throw Napi::TypeError::New(value.Env(), "options.mode must be \"newest\" or \"bounded\"");
  }
  options.mode = mode == "newest" ? grabber::RingMode::newest : grabber::RingMode::bounded;
  return options;
}

}  // namespace

class JsCamera : public Napi::ObjectWrap<JsCamera> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Camera",
                       {
                           InstanceMethod<&JsCamera::open>("open"),
                           InstanceMethod<&JsCamera::start>("start"),
                           InstanceMethod<&JsCamera::latest>("latest"),
                           InstanceMethod<&JsCamera::next>("next"),
                           InstanceMethod<&JsCamera::getFeature>("getFeature"),
                           InstanceMethod<&JsCamera::setFeature>("setFeature"),
                           InstanceMethod<&JsCamera::featureBounds>("featureBounds"),
                           InstanceMethod<&JsCamera::trigger>("trigger"),
                           InstanceMethod<&JsCamera::counters>("counters"),
                           InstanceMethod<&JsCamera::silenceS>("silenceS"),
                           InstanceAccessor<&JsCamera::lost>("lost"),
                           InstanceMethod<&JsCamera::close>("close"),
                       });
  }

  explicit JsCamera(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JsCamera>(info),
        environment_(Environment::of(info.Env())),
        core_(makeCore(info)),
        closer_(environment_.addCloser([core = core_] { core->shutDown(); })) {
    info.This().As<Napi::Object>().TypeTag(&kCameraTag);
  }

  ~JsCamera() override {
    // Collected without close(): the device may need seconds, which the event loop must not wait for.
    environment_.removeCloser(closer_);
    environment_.disposal().post([core = std::move(core_)]() mutable {
      core->shutDown();
      core.reset();
    });
  }

  std::shared_ptr<grabber::FrameSource> source() const { return core_->camera; }

 private:
  static std::shared_ptr<CameraCore> makeCore(const Napi::CallbackInfo& info) {
    const grabber::CameraOptions options = optionsFromJs(info[0]);
    try {
      return std::make_shared<CameraCore>(options);
    } catch (const grabber::GrabberError&) {
      throw toJsError(info.Env(), std::current_exception());
    }
  }

  Napi::Value open(const Napi::CallbackInfo& info) {
    return runOn(
        core_->lane, info.Env(), [core = core_] { return core->camera->open(); }, identityToJs);
  }

  Napi::Value start(const Napi::CallbackInfo& info) {
    return runOn(
        core_->lane, info.Env(),
        [core = core_] {
          core->camera->start();
          core->streaming.store(true);
          return true;
        },
        [](Napi::Env env, bool) { return env.Undefined(); });
  }

  Napi::Value latest(const Napi::CallbackInfo& info) {
    const double after =
        info[0].IsUndefined() ? 0 : requireNumber(info[0], "afterSequence", 0, 9007199254740991.0);
    try {
      grabber::FrameLease lease = core_->camera->latest(static_cast<uint64_t>(after));
      if (!lease.valid()) return info.Env().Null();
      return wrapFrame(info.Env(), core_->camera->name(), std::move(lease));
    } catch (const grabber::GrabberError&) {
      throw toJsError(info.Env(), std::current_exception());
    }
  }

  Napi::Value next(const Napi::CallbackInfo& info) {
    const double afterS = requireNumber(info[0], "afterS", -1, 1e9);
    const double timeoutS = requireNumber(info[1], "timeoutS", 0, 86400);
    const auto deferred = std::make_shared<Napi::Promise::Deferred>(Napi::Promise::Deferred::New(info.Env()));
    const Napi::Value promise = deferred->Promise();
    if (!core_->streaming.load()) {
      const CodedError error("CAMERA_OFFLINE", core_->camera->name() + " is not started");
      deferred->Reject(toJsError(info.Env(), std::make_exception_ptr(error)).Value());
      return promise;
    }
    // A time of a frame that went through seconds in a double is off by some nanoseconds: that frame must not
    // pass for a newer one.
    constexpr double kRoundingNs = 100;
    const double afterNs = std::max(0.0, std::round(afterS * 1e9) + kRoundingNs);
    const uint64_t deadlineNs = realtime::monotonicNs() + static_cast<uint64_t>(timeoutS * 1e9);
    environment_.expect();
    core_->waiter->await(
        static_cast<uint64_t>(afterNs), deadlineNs,
        [&environment = environment_, deferred, name = core_->camera->name()](
            const std::shared_ptr<grabber::FrameLease>& lease, const std::exception_ptr& error) {
          environment.deliver([&environment, deferred, name, lease, error](Napi::Env env) {
            environment.delivered();
            try {
              if (error) std::rethrow_exception(error);
              deferred->Resolve(wrapFrame(env, name, std::move(*lease)));
            } catch (const Napi::Error& refused) {
              deferred->Reject(refused.Value());
            } catch (...) {
              deferred->Reject(toJsError(env, std::current_exception()).Value());
            }
          });
        });
    return promise;
  }

  Napi::Value getFeature(const Napi::CallbackInfo& info) {
    return runOn(
        core_->lane, info.Env(),
        [core = core_, name = requireString(info[0], "name")] { return core->camera->feature(name); },
        Napi::Number::New);
  }

  Napi::Value setFeature(const Napi::CallbackInfo& info) {
    return runOn(
        core_->lane, info.Env(),
        [core = core_, name = requireString(info[0], "name"), value = requireNumber(info[1], "value")] {
          return core->camera->setFeature(name, value);
        },
        Napi::Number::New);
  }

  Napi::Value featureBounds(const Napi::CallbackInfo& info) {
    return runOn(
        core_->lane, info.Env(),
        [core = core_, name = requireString(info[0], "name")] { return core->camera->featureRange(name); },
        [](Napi::Env env, const grabber::FeatureRange& range) {
          return objectOf(env, {{"min", range.min}, {"max", range.max}, {"increment", range.increment}});
        });
  }

  Napi::Value trigger(const Napi::CallbackInfo& info) {
    return runOn(
        core_->lane, info.Env(), [core = core_] { return static_cast<double>(core->camera->trigger()); },
        Napi::Number::New);
  }

  Napi::Value counters(const Napi::CallbackInfo& info) {
    const grabber::Counters counters = core_->camera->counters();
    const auto count = [](uint64_t value) { return static_cast<double>(value); };
    return objectOf(info.Env(), {{"received", count(counters.received)},
                                 {"incomplete", count(counters.incomplete)},
                                 {"gaps", count(counters.gaps)},
                                 {"underruns", count(counters.underruns)},
                                 {"dropped", count(counters.dropped)},
                                 {"repeated", count(counters.repeated)},
                                 {"leasesHeld", count(counters.leasesHeld)},
                                 {"missingPackets", count(counters.missingPackets)},
                                 {"resentPackets", count(counters.resentPackets)},
                                 {"unansweredTriggers", count(counters.unansweredTriggers)}});
  }

  Napi::Value silenceS(const Napi::CallbackInfo& info) {
    const uint64_t silence = core_->camera->silenceNs();
    const bool never = silence == std::numeric_limits<uint64_t>::max();
    return Napi::Number::New(
        info.Env(), never ? std::numeric_limits<double>::infinity() : static_cast<double>(silence) * 1e-9);
  }

  Napi::Value lost(const Napi::CallbackInfo& info) {
    return Napi::Boolean::New(info.Env(), core_->camera->lost());
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    core_->streaming.store(false);
    core_->camera->cancel();
    core_->waiter->cancel();
    return runOn(
        core_->lane, info.Env(),
        [core = core_] {
          core->streaming.store(false);
          core->camera->close();
          core->waiter->cancel();
          return true;
        },
        [](Napi::Env env, bool) { return env.Undefined(); });
  }

  Environment& environment_;
  std::shared_ptr<CameraCore> core_;
  uint64_t closer_;
};

std::shared_ptr<grabber::FrameSource> frameSourceOf(const Napi::Value& value, const std::string& what) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&kCameraTag)) {
    throw Napi::TypeError::New(value.Env(), what + " must be a Camera");
  }
  return JsCamera::Unwrap(value.As<Napi::Object>())->source();
}

void initCamera(Napi::Env env, Napi::Object exports) { exports.Set("Camera", JsCamera::define(env)); }

}  // namespace surgiclaw::cell
