// Checked arguments: every wrong one is a TypeError (or RangeError) that names it, before any native work
// begins.
#pragma once

#include <napi.h>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>

namespace surgiclaw::cell {

/// All throw Napi::TypeError or Napi::RangeError; `what` names the argument in the message.
Napi::Object requireObject(const Napi::Value& value, const std::string& what);
std::string requireString(const Napi::Value& value, const std::string& what);
bool requireBoolean(const Napi::Value& value, const std::string& what);
/// A finite number within [low, high].
double requireNumber(const Napi::Value& value, const std::string& what, double low, double high);
/// A finite number.
double requireNumber(const Napi::Value& value, const std::string& what);
/// A whole number within [low, high].
int requireInteger(const Napi::Value& value, const std::string& what, int low, int high);
Napi::Array requireArray(const Napi::Value& value, const std::string& what, uint32_t length);
/// Finite numbers, as many as the result holds.
template <std::size_t Count>
std::array<double, Count> requireNumbers(const Napi::Value& value, const std::string& what) {
  const Napi::Array array = requireArray(value, what, Count);
  std::array<double, Count> numbers{};
  for (uint32_t i = 0; i < Count; ++i)
    numbers[i] = requireNumber(array.Get(i), what + "[" + std::to_string(i) + "]");
  return numbers;
}

/// The members of an object that was passed in; messages name them `what.key`.
class Members {
 public:
  Members(const Napi::Value& value, std::string what);
  bool has(const char* key) const { return !object_.Get(key).IsUndefined(); }
  Napi::Value at(const char* key) const { return object_.Get(key); }
  std::string path(const char* key) const { return what_ + "." + key; }
  std::string text(const char* key) const { return requireString(at(key), path(key)); }
  /// Empty when the member is absent.
  std::string textOrNone(const char* key) const { return has(key) ? text(key) : std::string(); }
  bool flag(const char* key) const { return requireBoolean(at(key), path(key)); }
  double number(const char* key) const { return requireNumber(at(key), path(key)); }
  double number(const char* key, double low, double high) const {
    return requireNumber(at(key), path(key), low, high);
  }
  int integer(const char* key, int low, int high) const {
    return requireInteger(at(key), path(key), low, high);
  }
  /// `absent` when the member is absent.
  int integerOr(const char* key, int absent, int low, int high) const {
    return has(key) ? integer(key, low, high) : absent;
  }
  template <std::size_t Count>
  std::array<double, Count> numbers(const char* key) const {
    return requireNumbers<Count>(at(key), path(key));
  }

 private:
  const Napi::Object object_;
  const std::string what_;
};

/// A JavaScript object of these members.
Napi::Object objectOf(Napi::Env env, std::initializer_list<std::pair<const char*, double>> numbers);

}  // namespace surgiclaw::cell
