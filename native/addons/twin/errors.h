// Native errors and wrong arguments as JavaScript sees them.
#pragma once

#include <napi.h>

#include <exception>

namespace surgiclaw::twin {

/// An Error with a `code` of the catalogue (src/base/errors.ts): CONFIG_INVALID for a scene or state that is
/// refused, INTERNAL for anything else.
Napi::Error toJsError(Napi::Env env, const std::exception_ptr& error);

/// @throws Napi::TypeError unless the value is a Float64Array
Napi::Float64Array requireState(Napi::Env env, const Napi::Value& value);

}  // namespace surgiclaw::twin
