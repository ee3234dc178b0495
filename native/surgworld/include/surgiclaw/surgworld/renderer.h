// Pictures of a task's scene, drawn without a display: OpenGL on EGL's surfaceless platform. The context
// belongs to one thread that the renderer starts; callers on any thread wait for their picture.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "surgiclaw/surgworld/world.h"

namespace surgiclaw::surgworld {

class Renderer {
 public:
  /// @throws WorldError for an unknown task or a size outside 16 to 1280
  Renderer(const std::string& task, int width, int height);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;
  ~Renderer();

  [[nodiscard]] int width() const;
  [[nodiscard]] int height() const;
  /// RGB, 8 bits, rows from the top. The first picture makes the context.
  /// @throws RenderingUnavailable, WorldError when the snapshot is of another scene
  std::vector<std::uint8_t> render(const Snapshot& snapshot);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace surgiclaw::surgworld
