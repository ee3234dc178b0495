// The parts of a scene that all tasks share, as MJCF text.
#pragma once

#include <string>

#include "surgiclaw/surgworld/task.h"

namespace surgiclaw::surgworld {

/// What a task writes of its own scene.
struct SceneText {
  /// Bodies and geoms beside table, light, camera and tool.
  std::string bodies;
  std::string equalities;
  /// Tendons, skins and whatever else stands outside the world body.
  std::string sections;
  /// Attributes of <option> and <size>.
  std::string option = "cone='pyramidal' solver='Newton' iterations='20'";
  std::string size = "njmax='600' nconmax='120'";
};

std::string sceneMjcf(const TaskDefinition& task, const SceneText& text);

/// Collision bits of a geom that stands fast, and of a thing that can be moved.
inline constexpr const char* kFixed = " contype='1' conaffinity='0'";
inline constexpr const char* kLoose = " contype='2' conaffinity='3'";
/// A free joint for things so slender that turning about their axis would outrun the time step: a little more
/// inertia, a little drag.
inline constexpr const char* kSlenderJoint = "<joint type='free' armature='2e-5' damping='2e-4'/>";
inline constexpr const char* kVisual = " contype='0' conaffinity='0'";

}  // namespace surgiclaw::surgworld
