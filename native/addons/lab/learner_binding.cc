// The learner for JavaScript: what src/lab/learning/native-learner.ts types. Calls compute on the caller's
// thread: a training run is a process of its own.
#ifdef SURGICLAW_HAS_LEARNER
#include <napi.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bindings.h"
#include "surgiclaw/learner/error.h"
#include "surgiclaw/learner/sac_learner.h"

namespace surgiclaw::lab {
namespace {

using learner::ActMode;
using learner::ErrorKind;
using learner::LearnerError;
using learner::SacLearner;
using learner::TransitionBlock;
using learner::UpdateReport;

const char* codeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOptions:
      return "CONFIG_INVALID";
    case ErrorKind::kData:
      return "LEARNING_DATA_INVALID";
    case ErrorKind::kCheckpoint:
      return "CHECKPOINT_INVALID";
    case ErrorKind::kState:
      return "COMMAND_INVALID";
  }
  return "INTERNAL";
}

template <typename Call>
auto guarded(Napi::Env env, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const LearnerError& e) {
    Napi::Error error = Napi::Error::New(env, e.what());
    error.Set("code", Napi::String::New(env, codeOf(e.kind())));
    throw error;
  } catch (const std::bad_alloc&) {
    throw Napi::Error::New(env, "there is not enough memory for this learner");
  }
}

/// The elements of a typed array of the right kind, a multiple of `width` long.
template <typename Array, typename Element>
struct Elements {
  Elements(const Napi::Value& value, const char* what, napi_typedarray_type type, std::size_t width) {
    if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type)
      throw Napi::TypeError::New(value.Env(), std::string(what) + " is not a typed array of the right kind");
    Array array = value.As<Array>();
    if (array.ElementLength() % width != 0)
      throw Napi::RangeError::New(value.Env(), std::string(what) + " does not hold whole rows");
    data = array.Data();
    size = array.ElementLength();
  }
  Element* data;
  std::size_t size;
};
using FloatElements = Elements<Napi::Float32Array, float>;

FloatElements floatsOf(const Napi::Value& value, const char* what, std::size_t width = 1) {
  return {value, what, napi_float32_array, width};
}

/// Members of the options; an absent one keeps what it was.
class Members {
 public:
  explicit Members(const Napi::Value& value) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), "options must be an object");
    object_ = value.As<Napi::Object>();
  }
  void number(const char* key, double& into) const {
    const Napi::Value value = object_.Get(key);
    if (value.IsUndefined()) return;
    if (!value.IsNumber()) throw Napi::TypeError::New(value.Env(), std::string(key) + " must be a number");
    into = value.As<Napi::Number>().DoubleValue();
  }
  void whole(const char* key, int& into) const {
    double value = into;
    number(key, value);
    if (!(std::fabs(value) < 2e9) || value != std::floor(value))
      throw Napi::RangeError::New(object_.Env(), std::string(key) + " must be a whole number");
    into = static_cast<int>(value);
  }
  void flag(const char* key, bool& into) const {
    const Napi::Value value = object_.Get(key);
    if (value.IsUndefined()) return;
    if (!value.IsBoolean())
      throw Napi::TypeError::New(value.Env(), std::string(key) + " must be true or false");
    into = value.As<Napi::Boolean>().Value();
  }
  Napi::Value at(const char* key) const { return object_.Get(key); }

 private:
  Napi::Object object_;
};

learner::Options optionsOf(const Napi::Value& value) {
  const Members members(value);
  learner::Options options;
  members.whole("observationSize", options.observationSize);
  members.whole("actionSize", options.actionSize);
  members.whole("batch", options.batch);
  members.whole("ringCapacity", options.ringCapacity);
  members.number("gamma", options.gamma);
  members.flag("bootstrapAtDone", options.bootstrapAtDone);
  members.number("targetRate", options.targetRate);
  members.number("learningRate", options.learningRate);
  members.number("weightDecay", options.weightDecay);
  members.number("temperature", options.temperature);
  members.flag("tuneTemperature", options.tuneTemperature);
  members.number("bankFraction", options.bankFraction);
  members.flag("binomialMix", options.binomialMix);
  members.number("cloningWeight", options.cloningWeight);
  members.flag("qFilter", options.qFilter);
  double seed = 0;
  members.number("seed", seed);
  if (!(seed >= 0 && seed <= 9007199254740991.0) || seed != std::floor(seed))
    throw Napi::RangeError::New(value.Env(), "seed must be a whole number from 0 on");
  options.seed = static_cast<std::uint64_t>(seed);
  if (members.at("hidden").IsArray()) {
    const auto widths = members.at("hidden").As<Napi::Array>();
    options.hidden.clear();
    for (std::uint32_t i = 0; i < widths.Length(); ++i) {
      if (!widths.Get(i).IsNumber()) throw Napi::TypeError::New(value.Env(), "hidden must hold numbers");
      options.hidden.push_back(widths.Get(i).As<Napi::Number>().Int32Value());
    }
  }
  if (members.at("instructionSet").IsString())
    options.instructionSet = members.at("instructionSet").As<Napi::String>().Utf8Value();
  return options;
}

Napi::Object reportToJs(Napi::Env env, const UpdateReport& report) {
  Napi::Object object = Napi::Object::New(env);
  const auto set = [&](const char* key, double value) { object.Set(key, Napi::Number::New(env, value)); };
  set("criticLoss", report.criticLoss);
  set("actorLoss", report.actorLoss);
  set("cloningLoss", report.cloningLoss);
  set("kept", report.kept);
  set("temperature", report.temperature);
  set("entropy", report.entropy);
  set("meanQ", report.meanQ);
  return object;
}

class Learner : public Napi::ObjectWrap<Learner> {
 public:
  static void init(Napi::Env env, Napi::Object exports) {
    exports.Set(
        "Learner",
        DefineClass(env, "Learner",
                    {InstanceMethod<&Learner::setNormaliser>("setNormaliser"),
                     InstanceMethod<&Learner::setBank>("setBank"), InstanceMethod<&Learner::store>("store"),
                     InstanceMethod<&Learner::act>("act"), InstanceMethod<&Learner::clone>("clone"),
                     InstanceMethod<&Learner::update>("update"), InstanceMethod<&Learner::save>("save"),
                     InstanceMethod<&Learner::restore>("restore"), InstanceMethod<&Learner::actor>("actor"),
                     InstanceAccessor<&Learner::instructionSet>("instructionSet"),
                     InstanceAccessor<&Learner::stored>("stored")}));
  }

  explicit Learner(const Napi::CallbackInfo& info) : ObjectWrap(info) {
    const learner::Options options = optionsOf(info[0]);
    guarded(info.Env(), [&] { learner_ = std::make_unique<SacLearner>(options); });
    observationSize_ = static_cast<std::size_t>(options.observationSize);
    actionSize_ = static_cast<std::size_t>(options.actionSize);
  }

 private:
  TransitionBlock blockOf(const Napi::Value& observations, const Napi::Value& actions,
                          const Napi::Value& nextObservations, const Napi::Value& rewards,
                          const Napi::Value& terminals) const {
    const FloatElements before = floatsOf(observations, "observations", observationSize_);
    const FloatElements acted = floatsOf(actions, "actions", actionSize_);
    const FloatElements after = floatsOf(nextObservations, "nextObservations", observationSize_);
    const FloatElements earned = floatsOf(rewards, "rewards");
    const Elements<Napi::Uint8Array, std::uint8_t> ended(terminals, "terminals", napi_uint8_array, 1);
    const std::size_t count = earned.size;
    if (before.size != count * observationSize_ || after.size != before.size ||
        acted.size != count * actionSize_ || ended.size != count)
      throw Napi::RangeError::New(observations.Env(), "the columns of the transitions differ in length");
    return {count, before.data, acted.data, after.data, earned.data, ended.data};
  }

  void setNormaliser(const Napi::CallbackInfo& info) {
    const FloatElements mean = floatsOf(info[0], "mean");
    const FloatElements scale = floatsOf(info[1], "scale");
    guarded(info.Env(), [&] {
      learner_->setNormaliser({mean.data, mean.data + mean.size}, {scale.data, scale.data + scale.size});
    });
  }

  void setBank(const Napi::CallbackInfo& info) {
    const Members bank(info[0]);
    const TransitionBlock block =
        blockOf(bank.at("observations"), bank.at("actions"), bank.at("nextObservations"), bank.at("rewards"),
                bank.at("terminals"));
    const FloatElements weights = floatsOf(bank.at("weights"), "weights");
    const Elements<Napi::Float64Array, double> chances(bank.at("probabilities"), "probabilities",
                                                       napi_float64_array, 1);
    guarded(info.Env(), [&] {
      learner_->setBank(block, {weights.data, weights.data + weights.size},
                        {chances.data, chances.data + chances.size});
    });
  }

  void store(const Napi::CallbackInfo& info) {
    const TransitionBlock block = blockOf(info[0], info[1], info[2], info[3], info[4]);
    guarded(info.Env(), [&] { learner_->store(block); });
  }

  void act(const Napi::CallbackInfo& info) {
    const FloatElements observations = floatsOf(info[0], "observations", observationSize_);
    const std::size_t count = observations.size / observationSize_;
    const std::string mode = info[1].IsString() ? info[1].As<Napi::String>().Utf8Value() : "";
    const FloatElements actions = floatsOf(info[2], "actions", actionSize_);
    if (actions.size != count * actionSize_)
      throw Napi::RangeError::New(info.Env(), "actions does not hold a row for each observation");
    ActMode chosen = ActMode::kEvaluate;
    if (mode == "explore")
      chosen = ActMode::kExplore;
    else if (mode == "uniform")
      chosen = ActMode::kUniform;
    else if (mode != "evaluate")
      throw Napi::TypeError::New(info.Env(), "mode is none of evaluate, explore, uniform");
    guarded(info.Env(), [&] { learner_->act(observations.data, count, chosen, actions.data); });
  }

  static int updatesOf(const Napi::CallbackInfo& info) {
    const double updates = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : -1;
    if (!(updates >= 0 && updates <= 1e8) || updates != std::floor(updates))
      throw Napi::RangeError::New(info.Env(), "updates must be a whole number from 0 on");
    return static_cast<int>(updates);
  }

  Napi::Value clone(const Napi::CallbackInfo& info) {
    const int updates = updatesOf(info);
    return reportToJs(info.Env(), guarded(info.Env(), [&] { return learner_->clone(updates); }));
  }

  Napi::Value update(const Napi::CallbackInfo& info) {
    const int updates = updatesOf(info);
    return reportToJs(info.Env(), guarded(info.Env(), [&] { return learner_->update(updates); }));
  }

  Napi::Value save(const Napi::CallbackInfo& info) {
    const std::vector<std::uint8_t> bytes = guarded(info.Env(), [&] { return learner_->save(); });
    return Napi::Buffer<std::uint8_t>::Copy(info.Env(), bytes.data(), bytes.size());
  }

  void restore(const Napi::CallbackInfo& info) {
    const Elements<Napi::Uint8Array, std::uint8_t> bytes(info[0], "checkpoint", napi_uint8_array, 1);
    guarded(info.Env(), [&] { learner_->restore(bytes.data, bytes.size); });
  }

  /// The actor as exports write it: weights [outputs][inputs], as PyTorch and ONNX (transB) lay them out.
  Napi::Value actor(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    const auto arrayOf = [env](const std::vector<float>& values) {
      Napi::Float32Array array = Napi::Float32Array::New(env, values.size());
      std::copy(values.begin(), values.end(), array.Data());
      return array;
    };
    Napi::Array layers = Napi::Array::New(env);
    const float* parameters = learner_->actorParameters();
    for (const learner::Layer& layer : learner_->actorNetwork().layers()) {
      std::vector<float> weights;
      std::vector<float> bias;
      for (int out = 0; out < layer.outputs; ++out) {
        for (int in = 0; in < layer.inputs; ++in)
          weights.push_back(parameters[layer.offset + static_cast<std::size_t>(in * layer.stride + out)]);
        bias.push_back(
            parameters[layer.offset + static_cast<std::size_t>(layer.inputs * layer.stride + out)]);
      }
      Napi::Object object = Napi::Object::New(env);
      object.Set("inputs", Napi::Number::New(env, layer.inputs));
      object.Set("outputs", Napi::Number::New(env, layer.outputs));
      object.Set("weights", arrayOf(weights));
      object.Set("bias", arrayOf(bias));
      layers.Set(layers.Length(), object);
    }
    Napi::Object result = Napi::Object::New(env);
    result.Set("layers", layers);
    result.Set("mean", arrayOf(learner_->normaliserMean()));
    result.Set("scale", arrayOf(learner_->normaliserScale()));
    return result;
  }

  Napi::Value instructionSet(const Napi::CallbackInfo& info) {
    return Napi::String::New(info.Env(), learner_->instructionSet());
  }

  Napi::Value stored(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), learner_->stored());
  }

  std::unique_ptr<SacLearner> learner_;
  std::size_t observationSize_ = 0;
  std::size_t actionSize_ = 0;
};

}  // namespace

void initLearner(Napi::Env env, Napi::Object exports) { Learner::init(env, exports); }

}  // namespace surgiclaw::lab
#endif
