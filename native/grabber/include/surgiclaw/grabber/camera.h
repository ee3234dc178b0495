#pragma once

#include <functional>
#include <string>

#include "surgiclaw/grabber/frame_source.h"

namespace surgiclaw::grabber {

enum class RingMode {
  newest,   ///< live: old frames make room for new ones, and count as dropped if nobody saw them
  bounded,  ///< acquisition: every frame is delivered, or the source fails with an overflow
};

struct CameraOptions {
  std::string name;
  std::string address;  ///< GenICam device: IP address or device id for Aravis; empty for a folder
  std::string folder;   ///< image files, played in name order; empty for a device
  int width = 0;
  int height = 0;
  double frameRate = 25;  ///< Hz
  int packetSize = 9000;  ///< bytes on the wire, GigE Vision only
  int ringSize = 30;      ///< frames held in memory; at least kMinRing
  RingMode mode = RingMode::newest;
  int openAttempts = 3;  ///< tries before a device counts as missing
};

struct CameraIdentity {
  std::string vendor;
  std::string model;
  std::string serial;
};

/// Values a feature may take. Increment 0: any value between.
struct FeatureRange {
  double min = 0;
  double max = 0;
  double increment = 0;
};

/// A source of frames with a life cycle: open, start, close, and over again (which mends a lost one). Frame
/// numbers go on counting. open(), start(), close() and the features block, up to seconds, and are serialised
/// inside.
class Camera : public FrameSource {
 public:
  /// Finds, claims and configures the device. @throws GrabberError missing, refused, offline, feature
  virtual CameraIdentity open() = 0;
  /// Starts the stream. @throws GrabberError usage when not open or started already; offline
  virtual void start() = 0;
  /// Stops and lets go of the device. Waiting calls return empty; leases stay valid. Idempotent, never
  /// throws.
  virtual void close() noexcept = 0;
  /// Makes an open() under way in another thread give up early.
  virtual void cancel() noexcept = 0;

  /// In the device's own unit (µs for ExposureTimeAbs). @throws GrabberError feature, offline
  virtual double feature(const std::string& feature) = 0;
  virtual FeatureRange featureRange(const std::string& feature) = 0;
  /// Checks bounds and increment, writes, reads back; returns what the device holds. @throws GrabberError
  /// feature (nothing written, or read back differently), offline, usage (the frame size while streaming)
  virtual double setFeature(const std::string& feature, double value) = 0;

  /// Called after each new frame, and on loss and close, from the grabbing thread: must be quick. Set before
  /// open().
  virtual void onChange(std::function<void()> listener) = 0;
};

/// Least sensible ring: the newest frame, three at the device, one leased.
constexpr int kMinRing = 5;

/// A GenICam camera or an image folder, as the options say; does no I/O. @throws GrabberError usage
std::shared_ptr<Camera> makeCamera(const CameraOptions& options);

}  // namespace surgiclaw::grabber
