#pragma once

#include <arv.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "picture_watch.h"
#include "surgiclaw/grabber/frame_ring.h"
#include "trigger_queue.h"

namespace surgiclaw::grabber {

/// Counts that go on over restarts of a stream. Written by the drain thread.
struct StreamCounts {
  std::atomic<uint64_t>& incomplete;
  std::atomic<uint64_t>& gaps;
  std::atomic<uint64_t>& underruns;
  std::atomic<uint64_t> missingPackets{0};
  std::atomic<uint64_t> resentPackets{0};
};

/// Buffers that Aravis needs at the frame rate: while it waits for packets of a frame that has a hole, the
/// frames after it wait too.
int genicamBuffers(double frameRate);

/// The frames of one Aravis stream on their way into the ring. A thread of its own takes them out of Aravis
/// at once, whatever the consumers do (Aravis does not reuse frames that nobody fetched). Mono8 frames land
/// in the slots of the ring themselves; others in a few buffers beside it, from where they are reduced to
/// eight bits.
class GenicamStream {
 public:
  /// @param latestBeginNs of a frame before its arrival; may change while the stream runs
  GenicamStream(const CameraOptions& options, std::shared_ptr<FrameRing> ring, TriggerQueue& triggers,
                StreamCounts& counts, const std::atomic<uint64_t>& latestBeginNs);
  GenicamStream(const GenicamStream&) = delete;
  GenicamStream& operator=(const GenicamStream&) = delete;
  /// As end().
  ~GenicamStream();

  /// Creates the stream and starts the acquisition. @throws GrabberError feature (a frame does not fit),
  /// refused, offline
  void start(ArvCamera* camera);
  /// The slots and threads come home; waiting calls on the ring return. Hands over the Aravis stream, null
  /// without one: its last reference may take seconds to end.
  ArvStream* end() noexcept;

 private:
  static void onStreamEvent(void* self, ArvStreamCallbackType type, ArvBuffer* buffer);
  /// Buffers are the slots of the ring.
  bool direct() const { return options_.pixelFormat == PixelFormat::mono8; }
  void feed();
  void drain();
  void noteStatistics();
  void take(ArvBuffer* buffer);
  /// Publishes a complete frame. False when it is none of ours, or there is no slot.
  bool publish(ArvBuffer* buffer, uint64_t arrivalNs);

  const CameraOptions& options_;
  const std::shared_ptr<FrameRing> ring_;
  TriggerQueue& triggers_;
  StreamCounts& counts_;
  const std::atomic<uint64_t>& latestBeginNs_;
  ArvStream* stream_ = nullptr;
  std::vector<ArvBuffer*>
      slotBuffers_;  ///< of the slots that are not with Aravis; null: none made, or with Aravis
  std::thread drainer_;
  std::atomic<bool> stopping_{false};
  // Drain thread alone.
  uint64_t lastFrameId_ = 0;  ///< 0: none yet
  uint64_t pendingSkips_ = 0;
  PictureWatch watch_;
  guint64 seenUnderruns_ = 0;
  guint64 seenMissing_ = 0;
  guint64 seenResent_ = 0;
};

}  // namespace surgiclaw::grabber
