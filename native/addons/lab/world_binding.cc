// Worlds and pictures of the learning tasks for JavaScript.
#ifdef SURGICLAW_HAS_WORLD
#include <napi.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "surgiclaw/surgworld/errors.h"
#include "surgiclaw/surgworld/renderer.h"
#include "surgiclaw/surgworld/vector_world.h"

namespace surgiclaw::lab {
namespace {

using surgworld::Snapshot;

Napi::Error toJsError(Napi::Env env, const std::exception_ptr& error) {
  const auto coded = [env](const char* code, const std::exception& cause) {
    Napi::Error result = Napi::Error::New(env, cause.what());
    result.Set("code", Napi::String::New(env, code));
    return result;
  };
  try {
    std::rethrow_exception(error);
  } catch (const surgworld::WorldError& e) {
    return coded("COMMAND_INVALID", e);
  } catch (const surgworld::RenderingUnavailable& e) {
    return coded("RENDERING_UNAVAILABLE", e);
  } catch (const std::exception& e) {
    return coded("INTERNAL", e);
  }
}

template <typename Call>
auto guarded(Napi::Env env, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw toJsError(env, std::current_exception());
  }
}

std::string requireText(const Napi::Value& value, const char* what) {
  if (!value.IsString()) throw Napi::TypeError::New(value.Env(), std::string(what) + " must be text");
  return value.As<Napi::String>().Utf8Value();
}

double requireWhole(const Napi::Value& value, const char* what, double low, double high) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(number >= low && number <= high) || number != std::floor(number))
    throw Napi::RangeError::New(value.Env(), std::string(what) + " must be a whole number from " +
                                                 std::to_string(static_cast<long long>(low)) + " to " +
                                                 std::to_string(static_cast<long long>(high)));
  return number;
}

/// A typed array of exactly `size` elements.
template <typename Array>
Array requireArray(const Napi::Value& value, const char* what, napi_typedarray_type type, std::size_t size) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type ||
      value.As<Napi::TypedArray>().ElementLength() != size)
    throw Napi::TypeError::New(value.Env(), std::string(what) + " must be a typed array of " +
                                                std::to_string(size) + " elements of its kind");
  return value.As<Array>();
}

Napi::Float32Array requireFloats(const Napi::Value& value, const char* what, std::size_t size) {
  return requireArray<Napi::Float32Array>(value, what, napi_float32_array, size);
}

class VectorWorld : public Napi::ObjectWrap<VectorWorld> {
 public:
  static void init(Napi::Env env, Napi::Object exports) {
    exports.Set("VectorWorld", DefineClass(env, "VectorWorld",
                                           {InstanceMethod<&VectorWorld::reset>("reset"),
                                            InstanceMethod<&VectorWorld::step>("step"),
                                            InstanceMethod<&VectorWorld::keepPrivileged>("keepPrivileged"),
                                            InstanceMethod<&VectorWorld::furthest>("furthest"),
                                            InstanceMethod<&VectorWorld::arrivals>("arrivals"),
                                            InstanceMethod<&VectorWorld::guidance>("guidance"),
                                            InstanceMethod<&VectorWorld::snapshot>("snapshot"),
                                            InstanceMethod<&VectorWorld::diverged>("diverged"),
                                            InstanceMethod<&VectorWorld::close>("close")}));
  }

  explicit VectorWorld(const Napi::CallbackInfo& info) : ObjectWrap(info) {
    const std::string task = requireText(info[0], "task");
    const int count = static_cast<int>(requireWhole(info[1], "count", 1, 1024));
    const int horizon = static_cast<int>(requireWhole(info[2], "horizon", 1, 100000));
    guarded(info.Env(), [&] { worlds_ = std::make_unique<surgworld::VectorWorld>(task, count, horizon); });
    rows_ = static_cast<std::size_t>(count);
    observations_ = rows_ * static_cast<std::size_t>(worlds_->task().observationSize());
    actions_ = rows_ * static_cast<std::size_t>(worlds_->task().arm.actionSize());
  }

 private:
  surgworld::VectorWorld& open(const Napi::CallbackInfo& info) {
    if (!worlds_) throw Napi::Error::New(info.Env(), "the worlds are closed");
    return *worlds_;
  }

  void reset(const Napi::CallbackInfo& info) {
    surgworld::VectorWorld& worlds = open(info);
    const auto seed = static_cast<std::uint64_t>(requireWhole(info[0], "seed", 0, 9007199254740991.0));
    Napi::Float32Array observations = requireFloats(info[1], "observations", observations_);
    guarded(info.Env(), [&] { worlds.reset(seed, observations.Data()); });
  }

  void step(const Napi::CallbackInfo& info) {
    surgworld::VectorWorld& worlds = open(info);
    Napi::Float32Array actions = requireFloats(info[0], "actions", actions_);
    Napi::Float32Array observations = requireFloats(info[1], "observations", observations_);
    Napi::Float32Array finals = requireFloats(info[2], "finalObservations", observations_);
    Napi::Float32Array rewards = requireFloats(info[3], "rewards", rows_);
    auto terminals = requireArray<Napi::Uint8Array>(info[4], "terminals", napi_uint8_array, rows_);
    auto truncations = requireArray<Napi::Uint8Array>(info[5], "truncations", napi_uint8_array, rows_);
    guarded(info.Env(), [&] {
      worlds.step(actions.Data(),
                  {observations.Data(), finals.Data(), rewards.Data(), terminals.Data(), truncations.Data()});
    });
  }

  void keepPrivileged(const Napi::CallbackInfo& info) {
    open(info).keepPrivileged(info[0].ToBoolean().Value());
  }

  int world(const Napi::CallbackInfo& info) {
    return static_cast<int>(requireWhole(info[0], "world", 0, static_cast<double>(rows_ - 1)));
  }

  Napi::Value furthest(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), open(info).reference(world(info)).furthest);
  }

  Napi::Value arrivals(const Napi::CallbackInfo& info) {
    const std::vector<std::int32_t>& all = open(info).reference(world(info)).arrivals;
    Napi::Int32Array result = Napi::Int32Array::New(info.Env(), all.size());
    std::memcpy(result.Data(), all.data(), all.size() * sizeof(std::int32_t));
    return result;
  }

  Napi::Value guidance(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), open(info).guidance(world(info)));
  }

  Napi::Value diverged(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(open(info).diverged()));
  }

  Napi::Value snapshot(const Napi::CallbackInfo& info) {
    const Snapshot& all = open(info).snapshot(world(info));
    Napi::Float64Array result = Napi::Float64Array::New(info.Env(), all.size());
    std::memcpy(result.Data(), all.data(), all.size() * sizeof(double));
    return result;
  }

  void close(const Napi::CallbackInfo& /*info*/) { worlds_.reset(); }

  std::unique_ptr<surgworld::VectorWorld> worlds_;
  std::size_t rows_ = 0;
  std::size_t observations_ = 0;
  std::size_t actions_ = 0;
};

/// Waits in Node's thread pool for the renderer's own thread.
class RenderWorker : public Napi::AsyncWorker {
 public:
  RenderWorker(Napi::Env env, std::shared_ptr<surgworld::Renderer> renderer, Snapshot snapshot)
      : AsyncWorker(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        renderer_(std::move(renderer)),
        snapshot_(std::move(snapshot)) {}

  [[nodiscard]] Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      pixels_ = renderer_->render(snapshot_);
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void OnOK() override {
    const Napi::HandleScope scope(Env());
    if (error_) {
      deferred_.Reject(toJsError(Env(), error_).Value());
      return;
    }
    Napi::Uint8Array result = Napi::Uint8Array::New(Env(), pixels_.size());
    std::memcpy(result.Data(), pixels_.data(), pixels_.size());
    deferred_.Resolve(result);
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<surgworld::Renderer> renderer_;
  Snapshot snapshot_;
  std::vector<std::uint8_t> pixels_;
  std::exception_ptr error_;
};

class WorldRenderer : public Napi::ObjectWrap<WorldRenderer> {
 public:
  static void init(Napi::Env env, Napi::Object exports) {
    exports.Set("WorldRenderer", DefineClass(env, "WorldRenderer",
                                             {InstanceMethod<&WorldRenderer::render>("render"),
                                              InstanceMethod<&WorldRenderer::close>("close")}));
  }

  explicit WorldRenderer(const Napi::CallbackInfo& info) : ObjectWrap(info) {
    const std::string task = requireText(info[0], "task");
    const int width = static_cast<int>(requireWhole(info[1], "width", 16, 1280));
    const int height = static_cast<int>(requireWhole(info[2], "height", 16, 1280));
    guarded(info.Env(), [&] { renderer_ = std::make_shared<surgworld::Renderer>(task, width, height); });
  }

 private:
  Napi::Value render(const Napi::CallbackInfo& info) {
    if (!renderer_) throw Napi::Error::New(info.Env(), "the renderer is closed");
    if (!info[0].IsTypedArray() || info[0].As<Napi::TypedArray>().TypedArrayType() != napi_float64_array)
      throw Napi::TypeError::New(info.Env(), "the snapshot must be a Float64Array");
    const auto snapshot = info[0].As<Napi::Float64Array>();
    auto* worker = new RenderWorker(info.Env(), renderer_,
                                    Snapshot(snapshot.Data(), snapshot.Data() + snapshot.ElementLength()));
    const Napi::Promise promise = worker->promise();
    worker->Queue();
    return promise;
  }

  void close(const Napi::CallbackInfo& /*info*/) { renderer_.reset(); }

  std::shared_ptr<surgworld::Renderer> renderer_;
};

Napi::Value worldTasks(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<surgworld::TaskDefinition>& all = surgworld::allTasks();
  Napi::Array result = Napi::Array::New(env, all.size());
  for (uint32_t i = 0; i < all.size(); i++) {
    const surgworld::TaskDefinition& task = all[i];
    Napi::Object about = Napi::Object::New(env);
    about.Set("name", task.name);
    about.Set("observationSize", task.observationSize());
    about.Set("actionSize", task.arm.actionSize());
    about.Set("phases", task.phases);
    about.Set("substeps", task.substeps);
    about.Set("timeStepS", task.timeStepS);
    about.Set("metresPerModelMetre", task.metresPerModelMetre);
    about.Set("maxStepM", task.arm.maxStep * task.metresPerModelMetre);
    result.Set(i, about);
  }
  return result;
}

}  // namespace

void initWorld(Napi::Env env, Napi::Object exports) {
  VectorWorld::init(env, exports);
  WorldRenderer::init(env, exports);
  exports.Set("worldTasks", Napi::Function::New(env, worldTasks, "worldTasks"));
}

}  // namespace surgiclaw::lab
#endif
