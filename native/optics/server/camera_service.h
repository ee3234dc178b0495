// One microscope as a GigE Vision camera on a loopback address.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "surgiclaw/optics/renderer.h"
#include "surgiclaw/optics/scene_state.h"

typedef struct _ArvGvFakeCamera ArvGvFakeCamera;
typedef struct _ArvBuffer ArvBuffer;

namespace surgiclaw::optics {

/// Time spent drawing since the last report.
struct RenderTimes {
  std::size_t frames;
  double medianMs;
  double p99Ms;
};

class CameraService {
 public:
  /// @throws StateError, SceneError
  CameraService(const Scene& scene, std::size_t camera, const std::string& statePath,
                std::shared_ptr<const NoiseTile> noise);
  ~CameraService();
  CameraService(const CameraService&) = delete;
  CameraService& operator=(const CameraService&) = delete;

  [[nodiscard]] const std::string& serial() const { return scene_.cameras[camera_].serial; }
  [[nodiscard]] bool online() const { return device_ != nullptr; }

  /// Switches the camera on, with the registers it has after power-up. @throws SceneError when its address is
  /// taken
  void powerUp();

  /// Switches it off in the middle of whatever it does: it answers nothing any more.
  void powerDown();

  /// Starts counting anew.
  RenderTimes takeTimes();

 private:
  /// The fill pattern of the fake camera: in the thread that also answers the control channel.
  static void fill(ArvBuffer* buffer, void* self, std::uint32_t exposureUs, std::uint32_t gain,
                   std::uint32_t pixelFormat);
  void draw(ArvBuffer* buffer, double exposureUs, double gainRaw);

  Scene scene_;
  std::size_t camera_;
  Renderer renderer_;
  StateReader reader_;
  // The drawing thread's own; a frozen camera draws the same shot of the same state again.
  SceneState state_;
  Shot shot_{};
  std::uint64_t frames_ = 0;
  bool frozen_ = false;
  std::mutex timesLock_;
  std::vector<float> timesMs_;
  // Last, so that its thread is gone before what it uses.
  ArvGvFakeCamera* device_ = nullptr;
};

}  // namespace surgiclaw::optics
