// StageEnvelope, NeedleEnvelope, ArmEnvelope: the last step before each wire, from JavaScript. A refusal is
// an error with the code of the catalogue. Numbers to be judged come as they are, NaN and infinities too:
// refusing them is the envelope's own business, and what is no number at all counts as NaN.
#include <napi.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "bindings.h"
#include "environment.h"
#include "surgiclaw/envelope/arm_envelope.h"
#include "surgiclaw/envelope/needle_envelope.h"
#include "surgiclaw/envelope/stage_envelope.h"

namespace surgiclaw::cell {

namespace {

constexpr int kLeast = std::numeric_limits<int32_t>::min();
constexpr int kMost = std::numeric_limits<int32_t>::max();

void orThrow(Napi::Env env, const envelope::Refusal& refusal) {
  if (refusal) throw toJsError(env, std::make_exception_ptr(CodedError(refusal.code, refusal.detail)));
}

double judged(const Napi::Value& value) {
  return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> judgedAll(const Napi::Value& value, const std::string& what) {
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), what + " must be an array");
  const auto array = value.As<Napi::Array>();
  std::vector<double> values;
  for (uint32_t i = 0; i < array.Length(); ++i) values.push_back(judged(array.Get(i)));
  return values;
}

/// Six of them; what is missing counts as NaN.
envelope::Six judgedSix(const Napi::Value& value, const std::string& what) {
  const std::vector<double> values = judgedAll(value, what);
  envelope::Six six{};
  for (size_t i = 0; i < six.size(); ++i) {
    six[i] = values.size() == six.size() ? values[i] : std::numeric_limits<double>::quiet_NaN();
  }
  return six;
}

std::string_view bytesOf(const Napi::Value& value) {
  if (!value.IsBuffer()) throw Napi::TypeError::New(value.Env(), "the bytes to be written must be a Buffer");
  const auto buffer = value.As<Napi::Buffer<char>>();
  return {buffer.Data(), buffer.Length()};
}

class JsStageEnvelope : public Napi::ObjectWrap<JsStageEnvelope> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "StageEnvelope",
                       {
                           InstanceMethod<&JsStageEnvelope::target>("target"),
                           InstanceMethod<&JsStageEnvelope::line>("line"),
                       });
  }

  explicit JsStageEnvelope(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JsStageEnvelope>(info), envelope_(familyOf(info[0]), axesOf(info[1])) {}

 private:
  static envelope::StageFamily familyOf(const Napi::Value& value) {
    return requireString(value, "family") == "sc" ? envelope::StageFamily::kSc
                                                  : envelope::StageFamily::kAries;
  }

  static std::vector<envelope::StageAxis> axesOf(const Napi::Value& value) {
    if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "axes must be an array");
    const auto array = value.As<Napi::Array>();
    std::vector<envelope::StageAxis> axes;
    for (uint32_t i = 0; i < array.Length(); ++i) {
      const Members members(array.Get(i), "axes[" + std::to_string(i) + "]");
      axes.push_back({members.integer("number", 1, 32), members.integer("minPulses", kLeast, kMost),
                      members.integer("maxPulses", kLeast, kMost), members.integer("maxPps", 1, kMost)});
    }
    return axes;
  }

  void target(const Napi::CallbackInfo& info) {
    orThrow(info.Env(), envelope_.target(requireInteger(info[0], "axis", kLeast, kMost), judged(info[1]),
                                         requireString(info[2], "what")));
  }

  void line(const Napi::CallbackInfo& info) { orThrow(info.Env(), envelope_.line(bytesOf(info[0]))); }

  const envelope::StageEnvelope envelope_;
};

class JsNeedleEnvelope : public Napi::ObjectWrap<JsNeedleEnvelope> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "NeedleEnvelope",
                       {
                           InstanceMethod<&JsNeedleEnvelope::position>("position"),
                           InstanceMethod<&JsNeedleEnvelope::motion>("motion"),
                           InstanceMethod<&JsNeedleEnvelope::dwell>("dwell"),
                           InstanceMethod<&JsNeedleEnvelope::line>("line"),
                           InstanceMethod<&JsNeedleEnvelope::registers>("registers"),
                       });
  }

  explicit JsNeedleEnvelope(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JsNeedleEnvelope>(info), envelope_(limitsOf(info[0])) {}

 private:
  static envelope::NeedleLimits limitsOf(const Napi::Value& value) {
    const Members members(value, "limits");
    envelope::NeedleLimits limits;
    limits.travel = members.integer("travel", 1, kMost);
    limits.maxSpeed = members.number("maxSpeed", 0, 1e15);
    limits.maxAcceleration = members.number("maxAcceleration", 0, 1e15);
    limits.speedScale = members.number("speedScale", 0, 1e15);
    limits.accelerationScale = members.number("accelerationScale", 0, 1e15);
    return limits;
  }

  void position(const Napi::CallbackInfo& info) {
    orThrow(info.Env(), envelope_.position(judged(info[0]), requireString(info[1], "what")));
  }

  void motion(const Napi::CallbackInfo& info) {
    orThrow(info.Env(), envelope_.motion(judged(info[0]), judged(info[1])));
  }

  void dwell(const Napi::CallbackInfo& info) {
    orThrow(info.Env(), envelope::NeedleEnvelope::dwell(judged(info[0])));
  }

  void line(const Napi::CallbackInfo& info) { orThrow(info.Env(), envelope_.line(bytesOf(info[0]))); }

  Napi::Value registers(const Napi::CallbackInfo& info) {
    std::vector<uint16_t> words;
    orThrow(info.Env(), envelope_.registers(requireInteger(info[0], "address", 0, 65535),
                                            judgedAll(info[1], "values"), words));
    Napi::Array array = Napi::Array::New(info.Env(), words.size());
    for (uint32_t i = 0; i < words.size(); ++i) array.Set(i, Napi::Number::New(info.Env(), words[i]));
    return array;
  }

  const envelope::NeedleEnvelope envelope_;
};

class JsArmEnvelope : public Napi::ObjectWrap<JsArmEnvelope> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "ArmEnvelope",
                       {
                           InstanceMethod<&JsArmEnvelope::standsAt>("standsAt"),
                           InstanceMethod<&JsArmEnvelope::encode>("encode"),
                       });
  }

  explicit JsArmEnvelope(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<JsArmEnvelope>(info), envelope_(limitsOf(info[0])) {}

 private:
  static envelope::ArmLimits limitsOf(const Napi::Value& value) {
    const Members members(value, "limits");
    envelope::ArmLimits limits;
    limits.lower = members.numbers<6>("lowerRad");
    limits.upper = members.numbers<6>("upperRad");
    limits.maxJointStep = members.number("maxJointStepRad", 0, 100);
    limits.maxJointSpeed = members.number("maxJointSpeedRadS", 0, 100);
    limits.maxJointAcceleration = members.number("maxJointAccelerationRadS2", 0, 1000);
    limits.maxLinearStep = members.number("maxLinearStepM", 0, 10);
    limits.maxLinearSpeed = members.number("maxLinearSpeedMS", 0, 10);
    limits.maxLinearAcceleration = members.number("maxLinearAccelerationMS2", 0, 100);
    limits.maxBlend = members.number("maxBlendM", 0, 1);
    return limits;
  }

  void standsAt(const Napi::CallbackInfo& info) {
    envelope_.standsAt(judgedSix(info[0], "joints"), judgedSix(info[1], "pose"));
  }

  Napi::Value encode(const Napi::CallbackInfo& info) {
    const Members members(info[0], "command");
    envelope::ArmCommand command;
    command.timeoutMs = members.integer("timeoutMs", 0, kMost);
    command.sequence = members.integer("sequence", 0, kMost);
    command.kind = static_cast<envelope::ArmCommandKind>(members.integer("kind", 0, 4));
    const bool moves = command.kind == envelope::ArmCommandKind::kMoveJoints ||
                       command.kind == envelope::ArmCommandKind::kMoveLinear;
    if (moves) command.values = judgedSix(members.at("values"), members.path("values"));
    command.speed = judged(members.at("speed"));
    command.acceleration = judged(members.at("acceleration"));
    command.blend = judged(members.at("blend"));
    envelope::ArmBytes bytes{};
    orThrow(info.Env(), envelope_.encode(command, bytes));
    return Napi::Buffer<uint8_t>::Copy(info.Env(), bytes.data(), bytes.size());
  }

  envelope::ArmEnvelope envelope_;
};

}  // namespace

void initEnvelopes(Napi::Env env, Napi::Object exports) {
  exports.Set("StageEnvelope", JsStageEnvelope::define(env));
  exports.Set("NeedleEnvelope", JsNeedleEnvelope::define(env));
  exports.Set("ArmEnvelope", JsArmEnvelope::define(env));
}

}  // namespace surgiclaw::cell
