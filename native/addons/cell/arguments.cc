#include "arguments.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace surgiclaw::cell {

namespace {

[[noreturn]] void wrongType(const Napi::Value& value, const std::string& what, const char* wanted) {
  throw Napi::TypeError::New(value.Env(), what + " must be " + wanted);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

}  // namespace

Napi::Object requireObject(const Napi::Value& value, const std::string& what) {
  if (!value.IsObject()) wrongType(value, what, "an object");
  return value.As<Napi::Object>();
}

std::string requireString(const Napi::Value& value, const std::string& what) {
  if (!value.IsString()) wrongType(value, what, "a string");
  return value.As<Napi::String>().Utf8Value();
}

bool requireBoolean(const Napi::Value& value, const std::string& what) {
  if (!value.IsBoolean()) wrongType(value, what, "true or false");
  return value.As<Napi::Boolean>().Value();
}

double requireNumber(const Napi::Value& value, const std::string& what, double low, double high) {
  if (!value.IsNumber()) wrongType(value, what, "a number");
  const double held = value.As<Napi::Number>().DoubleValue();
  if (!std::isfinite(held)) throw Napi::RangeError::New(value.Env(), what + " must be finite");
  if (held < low || held > high) {
    throw Napi::RangeError::New(
        value.Env(), what + " = " + number(held) + " lies outside " + number(low) + "…" + number(high));
  }
  return held;
}

double requireNumber(const Napi::Value& value, const std::string& what) {
  return requireNumber(value, what, std::numeric_limits<double>::lowest(),
                       std::numeric_limits<double>::max());
}

int requireInteger(const Napi::Value& value, const std::string& what, int low, int high) {
  const double held = requireNumber(value, what, low, high);
  if (held != std::floor(held)) throw Napi::RangeError::New(value.Env(), what + " must be a whole number");
  return static_cast<int>(held);
}

Napi::Array requireArray(const Napi::Value& value, const std::string& what, uint32_t length) {
  if (!value.IsArray() || value.As<Napi::Array>().Length() != length) {
    wrongType(value, what, ("an array of " + std::to_string(length)).c_str());
  }
  return value.As<Napi::Array>();
}

Members::Members(const Napi::Value& value, std::string what)
    : object_(requireObject(value, what)), what_(std::move(what)) {}

Napi::Object objectOf(Napi::Env env, std::initializer_list<std::pair<const char*, double>> numbers) {
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [key, number] : numbers) object.Set(key, number);
  return object;
}

}  // namespace surgiclaw::cell
