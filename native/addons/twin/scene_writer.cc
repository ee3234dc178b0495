#include "scene_writer.h"

#include <cstddef>
#include <memory>
#include <string>

#include "errors.h"
#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::twin {
namespace {

/// Publishes states of the scene. JS thread; a write takes microseconds and never waits.
class SceneWriter : public Napi::ObjectWrap<SceneWriter> {
 public:
  explicit SceneWriter(const Napi::CallbackInfo& info) : ObjectWrap(info) {
    if (info.Length() < 1 || !info[0].IsString())
      throw Napi::TypeError::New(info.Env(), "SceneWriter needs the path of its file");
    path_ = info[0].As<Napi::String>().Utf8Value();
  }

  static Napi::Function define(Napi::Env env) {
    return DefineClass(
        env, "SceneWriter",
        {InstanceMethod<&SceneWriter::write>("write"), InstanceMethod<&SceneWriter::close>("close")});
  }

 private:
  Napi::Value write(const Napi::CallbackInfo& info) {
    const Napi::Float64Array state =
        requireState(info.Env(), info.Length() > 0 ? info[0] : info.Env().Undefined());
    try {
      if (!writer_) writer_ = std::make_unique<optics::StateWriter>(path_);
      writer_->write(state.Data(), state.ElementLength());
    } catch (const std::exception&) {
      throw toJsError(info.Env(), std::current_exception());
    }
    return info.Env().Undefined();
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    writer_.reset();
    return info.Env().Undefined();
  }

  std::string path_;
  // Opened by the first write: a constructor does no I/O.
  std::unique_ptr<optics::StateWriter> writer_;
};

}  // namespace

void initSceneWriter(Napi::Env env, Napi::Object exports) {
  exports.Set("SceneWriter", SceneWriter::define(env));
}

}  // namespace surgiclaw::twin
