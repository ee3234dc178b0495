// Checked arguments: every wrong one is a TypeError (or RangeError) that names it, before any native work
// begins.
#pragma once

#include <napi.h>

#include <string>

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

}  // namespace surgiclaw::cell
