#include "errors.h"

#include "surgiclaw/optics/scene.h"
#include "surgiclaw/optics/scene_state.h"

namespace surgiclaw::twin {
namespace {

Napi::Error coded(Napi::Env env, const char* code, const char* message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", Napi::String::New(env, code));
  return error;
}

}  // namespace

Napi::Error toJsError(Napi::Env env, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const optics::SceneError& e) {
    return coded(env, "CONFIG_INVALID", e.what());
  } catch (const optics::StateError& e) {
    return coded(env, "CONFIG_INVALID", e.what());
  } catch (const std::exception& e) {
    return coded(env, "INTERNAL", e.what());
  } catch (...) {
    return coded(env, "INTERNAL", "an unknown native error");
  }
}

Napi::Float64Array requireState(Napi::Env env, const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array)
    throw Napi::TypeError::New(env, "the state must be a Float64Array");
  return value.As<Napi::Float64Array>();
}

}  // namespace surgiclaw::twin
