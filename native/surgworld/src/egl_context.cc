#include "egl_context.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>

#include <array>
#include <string>

#include "surgiclaw/surgworld/errors.h"

#ifndef EGL_PLATFORM_SURFACELESS_MESA
#define EGL_PLATFORM_SURFACELESS_MESA 0x31DD
#endif

namespace surgiclaw::surgworld {
namespace {

constexpr const char* kRemedy = "; Debian: apt-get install libegl1 libgl1 libgl1-mesa-dri";

void* library(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw RenderingUnavailable(std::string(name) + " cannot be loaded" + kRemedy);
  return handle;
}

template <typename Function>
Function symbol(void* handle, const char* name) {
  auto function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) throw RenderingUnavailable(std::string("EGL has no ") + name + kRemedy);
  return function;
}

}  // namespace

// Loaded when the first picture is asked for: worlds run without any graphics library.
struct EglContext::Handles {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  decltype(&eglMakeCurrent) makeCurrent = nullptr;
  decltype(&eglDestroyContext) destroyContext = nullptr;
  decltype(&eglReleaseThread) releaseThread = nullptr;
};

EglContext::EglContext() : handles_(std::make_unique<Handles>()) {
  void* egl = library("libEGL.so.1");
  library("libGL.so.1");
  handles_->makeCurrent = symbol<decltype(&eglMakeCurrent)>(egl, "eglMakeCurrent");
  handles_->destroyContext = symbol<decltype(&eglDestroyContext)>(egl, "eglDestroyContext");
  handles_->releaseThread = symbol<decltype(&eglReleaseThread)>(egl, "eglReleaseThread");
  const auto address = symbol<decltype(&eglGetProcAddress)>(egl, "eglGetProcAddress");
  const auto error = symbol<decltype(&eglGetError)>(egl, "eglGetError");
  const auto failed = [&](const char* what) {
    return RenderingUnavailable(std::string(what) + " failed with EGL error " + std::to_string(error()) +
                                kRemedy);
  };
  const auto platformDisplay =
      reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(address("eglGetPlatformDisplayEXT"));
  if (platformDisplay == nullptr) throw RenderingUnavailable(std::string("EGL has no platforms") + kRemedy);
  handles_->display = platformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (handles_->display == EGL_NO_DISPLAY) throw failed("the surfaceless platform");
  if (symbol<decltype(&eglInitialize)>(egl, "eglInitialize")(handles_->display, nullptr, nullptr) != EGL_TRUE)
    throw failed("eglInitialize");
  if (symbol<decltype(&eglBindAPI)>(egl, "eglBindAPI")(EGL_OPENGL_API) != EGL_TRUE)
    throw failed("OpenGL on EGL");
  const std::array<EGLint, 13> wanted{EGL_RED_SIZE,
                                      8,
                                      EGL_GREEN_SIZE,
                                      8,
                                      EGL_BLUE_SIZE,
                                      8,
                                      EGL_DEPTH_SIZE,
                                      24,
                                      EGL_RENDERABLE_TYPE,
                                      EGL_OPENGL_BIT,
                                      EGL_SURFACE_TYPE,
                                      EGL_PBUFFER_BIT,
                                      EGL_NONE};
  EGLConfig config = nullptr;
  EGLint found = 0;
  if (symbol<decltype(&eglChooseConfig)>(egl, "eglChooseConfig")(handles_->display, wanted.data(), &config, 1,
                                                                 &found) != EGL_TRUE ||
      found < 1)
    throw failed("eglChooseConfig");
  handles_->context = symbol<decltype(&eglCreateContext)>(egl, "eglCreateContext")(handles_->display, config,
                                                                                   EGL_NO_CONTEXT, nullptr);
  if (handles_->context == EGL_NO_CONTEXT) throw failed("eglCreateContext");
  if (handles_->makeCurrent(handles_->display, EGL_NO_SURFACE, EGL_NO_SURFACE, handles_->context) !=
      EGL_TRUE) {
    handles_->destroyContext(handles_->display, handles_->context);
    throw failed("eglMakeCurrent");
  }
}

// The display is shared by all contexts of the process and is left as it is.
EglContext::~EglContext() {
  handles_->makeCurrent(handles_->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  handles_->destroyContext(handles_->display, handles_->context);
  handles_->releaseThread();
}

}  // namespace surgiclaw::surgworld
