#pragma once

#include <functional>
#include <memory>
#include <string>

#include "surgiclaw/grabber/frame_source.h"
#include "surgiclaw/grabber/pixel_format.h"

namespace surgiclaw::grabber {

enum class RingMode {
  newest,   ///< live: old frames make room for new ones, and count as dropped if nobody saw them
  bounded,  ///< acquisition: every frame is delivered, or the source fails with an overflow
};

/// Exactly one of address, device and folder says what kind of source it is.
struct CameraOptions {
  std::string name;
  std::string address;  ///< GenICam camera: IP address or device id for Aravis (GigE Vision or USB3 Vision)
  std::string device;   ///< V4L2 capture device, such as /dev/video0
  std::string folder;   ///< image files, played in name order
  int width = 0;        ///< of the frames, px, after binning
  int height = 0;
  int offsetX = 0;  ///< corner of the region that is read out, px; GenICam only
  int offsetY = 0;
  int binning = 1;  ///< sensor pixels per pixel, in both directions; GenICam only
  PixelFormat pixelFormat = PixelFormat::mono8;  ///< on the wire; frames are Mono8 all the same
  double frameRate = 25;                         ///< Hz, while no trigger is set
  /// Empty: frames come by themselves. "Software": one for each trigger(). Otherwise an input, such as
  /// "Line0". GenICam only.
  std::string triggerSource;
  std::string triggerActivation;  ///< of an input: "RisingEdge" or "FallingEdge"; empty: what the camera has
  int packetSize = 9000;          ///< bytes on the wire, GigE Vision only; 0: the largest that comes through
  double packetDelayUs = 0;       ///< between packets, so that two cameras can share a link; GigE Vision only
  int ringSize = 30;              ///< frames held in memory; at least kMinRing
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

  /// Features have the names of GenICam, whatever the source; values are in the device's own unit (µs for
  /// ExposureTime). @throws GrabberError feature, offline
  virtual double feature(const std::string& feature) = 0;
  virtual FeatureRange featureRange(const std::string& feature) = 0;
  /// Checks bounds and increment, writes, reads back; returns what the device holds. @throws GrabberError
  /// feature (nothing written, or read back differently), offline, usage (the frame size while streaming)
  virtual double setFeature(const std::string& feature, double value) = 0;

  /// Asks for one frame, when the camera waits for software triggers. Returns the trigger's number, which the
  /// frame that answers it carries. @throws GrabberError usage (no software trigger set, not started),
  /// offline, refused
  virtual uint64_t trigger() = 0;

  /// Called after each new frame, and on loss and close, from the grabbing thread: must be quick. Set before
  /// open().
  virtual void onChange(std::function<void()> listener) = 0;
};

/// Least sensible ring: the newest frame, three at the device, one leased.
constexpr int kMinRing = 5;

/// The source that the options describe; does no I/O. @throws GrabberError usage
std::shared_ptr<Camera> makeCamera(const CameraOptions& options);

}  // namespace surgiclaw::grabber
