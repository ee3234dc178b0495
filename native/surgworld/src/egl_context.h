// An OpenGL context without display or window, current in the thread that made it.
#pragma once

#include <memory>

namespace surgiclaw::surgworld {

class EglContext {
 public:
  /// @throws RenderingUnavailable, saying what is missing
  EglContext();
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;
  ~EglContext();

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace surgiclaw::surgworld
