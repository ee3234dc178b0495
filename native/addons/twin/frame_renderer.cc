#include "frame_renderer.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "surgiclaw/optics/renderer.h"

namespace surgiclaw::twin {
namespace {

/// A renderer for one camera of one scene, made by the first worker that needs it.
struct KeptRenderer {
  std::string scene;
  std::size_t camera;
  std::mutex mutex;
  std::unique_ptr<optics::Renderer> renderer;
};

/// The renderers used last; making one takes a second. JS thread.
class RendererCache {
 public:
  std::shared_ptr<KeptRenderer> of(const std::string& scene, std::size_t camera) {
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if ((*it)->camera != camera || (*it)->scene != scene) continue;
      kept_.splice(kept_.begin(), kept_, it);
      return kept_.front();
    }
    auto fresh = std::make_shared<KeptRenderer>();
    fresh->scene = scene;
    fresh->camera = camera;
    kept_.push_front(fresh);
    if (kept_.size() > kLimit) kept_.pop_back();
    return fresh;
  }

 private:
  static constexpr std::size_t kLimit = 4;
  std::list<std::shared_ptr<KeptRenderer>> kept_;
};

/// Draws one frame in Node's thread pool.
class RenderWorker : public Napi::AsyncWorker {
 public:
  RenderWorker(Napi::Env env, std::shared_ptr<KeptRenderer> kept, std::vector<double> state,
               optics::Shot shot)
      : AsyncWorker(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        kept_(std::move(kept)),
        state_(std::move(state)),
        shot_(shot) {}

  [[nodiscard]] Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      const optics::SceneState state = optics::unpackState(state_.data(), state_.size());
      const std::lock_guard<std::mutex> lock(kept_->mutex);
      if (!kept_->renderer) {
        const optics::Scene scene = optics::parseScene(kept_->scene);
        kept_->renderer =
            std::make_unique<optics::Renderer>(scene, kept_->camera, optics::makeNoiseTile(scene));
      }
      pixels_.resize(static_cast<std::size_t>(optics::kSensorSize) * optics::kSensorSize);
      kept_->renderer->render(state, shot_, pixels_.data());
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
  std::shared_ptr<KeptRenderer> kept_;
  std::vector<double> state_;
  optics::Shot shot_;
  std::vector<std::uint8_t> pixels_;
  std::exception_ptr error_;
};

double requireNumber(const Napi::CallbackInfo& info, std::size_t index, const char* name, double low,
                     double high) {
  const Napi::Value value = info[index];
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(number >= low && number <= high))
    throw Napi::TypeError::New(info.Env(), std::string(name) + " must be a number from " +
                                               std::to_string(low) + " to " + std::to_string(high));
  return number;
}

Napi::Value renderFrame(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString()) throw Napi::TypeError::New(env, "the scene must be JSON text");
  const auto camera =
      static_cast<std::size_t>(requireNumber(info, 1, "cameraIndex", 0, optics::kMaxCameras - 1));
  const Napi::Float64Array state = requireState(env, info[2]);
  optics::Shot shot{};
  shot.exposureUs = requireNumber(info, 3, "exposureUs", 1, 1e7);
  shot.gainRaw = requireNumber(info, 4, "gain", 0, 60);
  shot.frameNumber = static_cast<std::uint64_t>(requireNumber(info, 5, "frameNumber", 0, 9007199254740991.0));
  auto* cache = env.GetInstanceData<RendererCache>();
  auto* worker =
      new RenderWorker(env, cache->of(info[0].As<Napi::String>().Utf8Value(), camera),
                       std::vector<double>(state.Data(), state.Data() + state.ElementLength()), shot);
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace

void initFrameRenderer(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new RendererCache);
  exports.Set("renderFrame", Napi::Function::New(env, renderFrame, "renderFrame"));
}

}  // namespace surgiclaw::twin
