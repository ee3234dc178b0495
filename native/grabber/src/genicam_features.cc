#include "genicam_features.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::grabber {

namespace {

enum class Kind { integer, real, boolean };

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

Kind kindOf(ArvDevice* device, const std::string& where, const std::string& name) {
  ArvGcNode* const node = arv_device_get_feature(device, name.c_str());
  if (node == nullptr) throw GrabberError(GrabberFault::feature, where + ": there is no feature " + name);
  if (ARV_IS_GC_BOOLEAN(node)) return Kind::boolean;
  // An exposure is an integer node on some cameras and a float node on others, and each refuses the other's
  // calls.
  if (ARV_IS_GC_FLOAT(node)) return Kind::real;
  if (ARV_IS_GC_INTEGER(node)) return Kind::integer;
  throw GrabberError(GrabberFault::feature, where + ": the feature " + name + " is not a number");
}

bool isIncrement(double increment) { return std::isfinite(increment) && increment > 1e-300; }

void checkWithin(const FeatureRange& range, const std::string& where, const std::string& name, double value) {
  if (!std::isfinite(value))
    throw GrabberError(GrabberFault::feature, where + ": " + name + " must be finite");
  if (value < range.min || value > range.max) {
    throw GrabberError(GrabberFault::feature, where + ": " + name + " = " + number(value) + " lies outside " +
                                                  number(range.min) + "…" + number(range.max));
  }
  if (range.increment <= 0) return;
  const double steps = (value - range.min) / range.increment;
  if (std::abs(steps - std::round(steps)) > 1e-6 * std::max(1.0, std::abs(steps))) {
    throw GrabberError(GrabberFault::feature, where + ": " + name + " = " + number(value) + " is not " +
                                                  number(range.min) + " plus a multiple of " +
                                                  number(range.increment) + "; the next is " +
                                                  number(range.min + std::round(steps) * range.increment));
  }
}

}  // namespace

void throwIf(GError* error, const std::string& what) {
  if (error == nullptr) return;
  GrabberFault fault = GrabberFault::refused;
  if (error->domain == ARV_DEVICE_ERROR) {
    switch (error->code) {
      case ARV_DEVICE_ERROR_WRONG_FEATURE:
      case ARV_DEVICE_ERROR_FEATURE_NOT_FOUND:
        fault = GrabberFault::feature;
        break;
      case ARV_DEVICE_ERROR_NOT_FOUND:
        fault = GrabberFault::missing;
        break;
      case ARV_DEVICE_ERROR_NOT_CONNECTED:
      case ARV_DEVICE_ERROR_TRANSFER_ERROR:
      case ARV_DEVICE_ERROR_TIMEOUT:
        fault = GrabberFault::offline;
        break;
      default:
        break;
    }
  } else if (error->domain == ARV_GC_ERROR) {
    fault = GrabberFault::feature;
  }
  const std::string detail = what + ": " + error->message;
  g_error_free(error);
  throw GrabberError(fault, detail);
}

bool hasFeature(ArvDevice* device, const std::string& name) {
  GError* error = nullptr;
  const bool available = arv_device_is_feature_available(device, name.c_str(), &error) != FALSE;
  g_clear_error(&error);
  return available;
}

double readFeature(ArvDevice* device, const std::string& where, const std::string& name) {
  const Kind kind = kindOf(device, where, name);
  GError* error = nullptr;
  double value = 0;
  switch (kind) {
    case Kind::real:
      value = arv_device_get_float_feature_value(device, name.c_str(), &error);
      break;
    case Kind::integer:
      value = static_cast<double>(arv_device_get_integer_feature_value(device, name.c_str(), &error));
      break;
    case Kind::boolean:
      value = arv_device_get_boolean_feature_value(device, name.c_str(), &error) != FALSE ? 1 : 0;
      break;
  }
  throwIf(error, where + ": reading " + name);
  return value;
}

FeatureRange featureRange(ArvDevice* device, const std::string& where, const std::string& name) {
  const Kind kind = kindOf(device, where, name);
  if (kind == Kind::boolean) return {0, 1, 1};
  GError* error = nullptr;
  FeatureRange range;
  if (kind == Kind::real) {
    arv_device_get_float_feature_bounds(device, name.c_str(), &range.min, &range.max, &error);
    throwIf(error, where + ": bounds of " + name);
    range.increment = arv_device_get_float_feature_increment(device, name.c_str(), &error);
  } else {
    gint64 min = 0;
    gint64 max = 0;
    arv_device_get_integer_feature_bounds(device, name.c_str(), &min, &max, &error);
    throwIf(error, where + ": bounds of " + name);
    range.min = static_cast<double>(min);
    range.max = static_cast<double>(max);
    range.increment =
        static_cast<double>(arv_device_get_integer_feature_increment(device, name.c_str(), &error));
  }
  // Many nodes state no increment; Aravis then answers with the smallest positive number, or an error.
  if (error != nullptr || !isIncrement(range.increment)) range.increment = kind == Kind::integer ? 1 : 0;
  g_clear_error(&error);
  return range;
}

double writeFeature(ArvDevice* device, const std::string& where, const std::string& name, double value) {
  const Kind kind = kindOf(device, where, name);
  const FeatureRange range = featureRange(device, where, name);
  checkWithin(range, where, name, value);
  GError* error = nullptr;
  switch (kind) {
    case Kind::real:
      arv_device_set_float_feature_value(device, name.c_str(), value, &error);
      break;
    case Kind::integer:
      arv_device_set_integer_feature_value(device, name.c_str(), std::llround(value), &error);
      break;
    case Kind::boolean:
      arv_device_set_boolean_feature_value(device, name.c_str(), value != 0 ? TRUE : FALSE, &error);
      break;
  }
  throwIf(error, where + ": writing " + name);
  const double held = readFeature(device, where, name);
  // A float feature may sit on a coarser register (whole microseconds, a period instead of a rate).
  const double tolerance = kind == Kind::real ? std::max({range.increment, 5e-3 * std::abs(value), 1.0}) : 0;
  if (std::abs(held - value) > tolerance) {
    throw GrabberError(GrabberFault::feature, where + ": " + name + " was set to " + number(value) +
                                                  " and reads back " + number(held));
  }
  return held;
}

void writeSymbol(ArvDevice* device, const std::string& where, const std::string& name,
                 const std::string& symbol) {
  GError* error = nullptr;
  arv_device_set_string_feature_value(device, name.c_str(), symbol.c_str(), &error);
  throwIf(error, where + ": writing " + name + " = " + symbol);
  const char* const held = arv_device_get_string_feature_value(device, name.c_str(), &error);
  throwIf(error, where + ": reading " + name);
  if (held == nullptr || symbol != held) {
    throw GrabberError(GrabberFault::feature, where + ": " + name + " was set to " + symbol +
                                                  " and reads back " + (held == nullptr ? "nothing" : held));
  }
}

}  // namespace surgiclaw::grabber
