// What can go wrong here.
#pragma once

#include <stdexcept>
#include <string>

namespace surgiclaw::surgworld {

/// A task, action or snapshot that is refused.
struct WorldError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The state of the physics stopped being finite.
struct DivergedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// This machine cannot draw: EGL, its surfaceless platform or OpenGL is missing.
struct RenderingUnavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace surgiclaw::surgworld
