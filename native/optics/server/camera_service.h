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

  /// Switches a fault that the camera itself has; those of the link and of power-up last over powerDown().
  ///   lose N       so many of a thousand stream packets do not leave; this camera resends none
  ///   stall on     no frame leaves, control answers (off: they go on)
  ///   revoke       the controller loses its privilege, as when another program takes it
  ///   model NAME   the camera says that it is another model
  ///   serial TEXT  the camera says that it has another serial number
  ///   clock S      the camera's clock is ahead of wall time by so many seconds
  ///   exposure US  its exposure time is another, as after a reset that nobody noticed
  ///   slow MS      drawing a frame takes so much longer, and control waits meanwhile
  /// False for anything else.
  bool fault(const std::string& what, const std::string& value);

  /// Starts counting anew.
  RenderTimes takeTimes();

 private:
  /// The fill pattern of the fake camera: in the thread that also answers the control channel.
  static void fill(ArvBuffer* buffer, void* self, std::uint32_t exposureUs, std::uint32_t gain,
                   std::uint32_t pixelFormat);
  void draw(ArvBuffer* buffer, double exposureUs, double gainRaw);
  void writeText(std::uint32_t address, std::size_t room, const std::string& text);

  Scene scene_;
  std::size_t camera_;
  Renderer renderer_;
  StateReader reader_;
  // The drawing thread's own; a frozen camera draws the same shot of the same state again.
  SceneState state_;
  Shot shot_{};
  std::uint64_t frames_ = 0;
  bool frozen_ = false;
  // Faults: set by the server's thread, read by the drawing thread.
  std::atomic<std::int64_t> clockOffsetNs_{0};
  std::atomic<int> slowMs_{0};
  double lostRatio_ = 0;
  bool stalled_ = false;
  std::string model_;
  std::string serialShown_;
  std::mutex timesLock_;
  std::vector<float> timesMs_;
  // Last, so that its thread is gone before what it uses.
  ArvGvFakeCamera* device_ = nullptr;
};

}  // namespace surgiclaw::optics
