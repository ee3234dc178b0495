// Heart: the native heartbeat, from JavaScript.
#include <napi.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "surgiclaw/realtime/heart.h"

namespace surgiclaw::cell {

namespace {

class JsHeart : public Napi::ObjectWrap<JsHeart> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Heart",
                       {
                           InstanceMethod<&JsHeart::start>("start"),
                           InstanceMethod<&JsHeart::touch>("touch"),
                           InstanceMethod<&JsHeart::setNeedle>("setNeedle"),
                           InstanceMethod<&JsHeart::status>("status"),
                           InstanceMethod<&JsHeart::stop>("stop"),
                       });
  }

  explicit JsHeart(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JsHeart>(info), environment_(Environment::of(info.Env())) {}

  ~JsHeart() override { end(); }

 private:
  void start(const Napi::CallbackInfo& info) {
    if (heart_) throw failure(info.Env(), "COMMAND_INVALID", "the heart beats already");
    const Napi::Object object = requireObject(info[0], "options");
    realtime::HeartOptions options;
    options.fd = requireInteger(object.Get("fd"), "options.fd", 0, std::numeric_limits<int>::max());
    options.period = seconds(requireNumber(object.Get("periodS"), "options.periodS", 1e-4, 10));
    options.limit = seconds(requireNumber(object.Get("limitS"), "options.limitS", 1e-4, 100));
    try {
      heart_ = std::make_shared<realtime::Heart>(options);
    } catch (const std::exception& error) {
      throw failure(info.Env(), "SAFETY_HEARTBEAT", error.what());
    }
    heart_->setNeedle(inTissue_, retractToMicrosteps_);
    // First of all: whatever else takes long to close, the guardian must not be told meanwhile that all is
    // well.
    closer_ = environment_.addCloser([heart = heart_] { heart->stop(); }, true);
  }

  void touch(const Napi::CallbackInfo&) {
    if (heart_) heart_->touch();
  }

  void setNeedle(const Napi::CallbackInfo& info) {
    inTissue_ = requireBoolean(info[0], "inTissue");
    retractToMicrosteps_ = requireInteger(info[1], "retractToMicrosteps", std::numeric_limits<int32_t>::min(),
                                          std::numeric_limits<int32_t>::max());
    if (heart_) heart_->setNeedle(inTissue_, retractToMicrosteps_);
  }

  Napi::Value status(const Napi::CallbackInfo& info) {
    const realtime::HeartStatus status = heart_ ? heart_->status() : realtime::HeartStatus{};
    Napi::Object object = Napi::Object::New(info.Env());
    object.Set("beats", static_cast<double>(status.beats));
    object.Set("lateBeats", static_cast<double>(status.lateBeats));
    object.Set("guardianAlive", status.guardianAlive);
    object.Set("eventLoopAgeS", static_cast<double>(status.eventLoopAgeNs) * 1e-9);
    object.Set("realtime", status.realtime);
    object.Set("ticks", static_cast<double>(status.pace.ticks));
    object.Set("missed", static_cast<double>(status.pace.overruns));
    object.Set("lateP50S", static_cast<double>(status.pace.lateP50Ns) * 1e-9);
    object.Set("lateP99S", static_cast<double>(status.pace.lateP99Ns) * 1e-9);
    object.Set("lateP999S", static_cast<double>(status.pace.lateP999Ns) * 1e-9);
    object.Set("lateMaxS", static_cast<double>(status.pace.lateMaxNs) * 1e-9);
    return object;
  }

  void stop(const Napi::CallbackInfo&) { end(); }

  void end() {
    if (!heart_) return;
    environment_.removeCloser(closer_);
    heart_->stop();
    heart_.reset();
  }

  static std::chrono::nanoseconds seconds(double value) {
    return std::chrono::nanoseconds(static_cast<int64_t>(value * 1e9));
  }

  static Napi::Error failure(Napi::Env env, const char* code, const char* message) {
    return toJsError(env, std::make_exception_ptr(CodedError(code, message)));
  }

  Environment& environment_;
  // Shared with the closer, which runs when the environment goes without stop().
  std::shared_ptr<realtime::Heart> heart_;
  uint64_t closer_ = 0;
  bool inTissue_ = false;
  int32_t retractToMicrosteps_ = 0;
};

}  // namespace

void initHeart(Napi::Env env, Napi::Object exports) { exports.Set("Heart", JsHeart::define(env)); }

}  // namespace surgiclaw::cell
