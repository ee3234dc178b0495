#pragma once

#include <arv.h>

#include <string>

#include "surgiclaw/grabber/camera.h"

namespace surgiclaw::grabber {

/// Reading and writing of numeric GenICam features, whatever the type of their node: integer, float,
/// enumeration (by value) or boolean. Aravis enforces no bounds (it sends Width = 4096 to a camera of 2048),
/// so this does. `where` names the camera in messages. All throw GrabberError: feature, offline.
double readFeature(ArvDevice* device, const std::string& where, const std::string& name);
FeatureRange featureRange(ArvDevice* device, const std::string& where, const std::string& name);
/// Returns what the device holds afterwards.
double writeFeature(ArvDevice* device, const std::string& where, const std::string& name, double value);
/// Writes an enumeration by its symbol and reads it back.
void writeSymbol(ArvDevice* device, const std::string& where, const std::string& name,
                 const std::string& symbol);
bool hasFeature(ArvDevice* device, const std::string& name);

/// Throws `error` (which it frees) as a GrabberError; does nothing for null.
void throwIf(GError* error, const std::string& what);

}  // namespace surgiclaw::grabber
