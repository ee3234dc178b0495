#include "genicam_stream.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "genicam_features.h"
#include "surgiclaw/grabber/frame_time.h"
#include "surgiclaw/grabber/grabber_error.h"
#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::grabber {

namespace {

constexpr uint64_t kDrainWaitUs = 20'000;
/// How long Aravis waits for the packets of a frame (its own default).
constexpr double kFrameRetentionS = 0.1;
/// Of the socket: frames of a camera with small ones, or one large one. The kernel cuts it to
/// net.core.rmem_max. The size that Aravis would choose by itself, one frame, is too small for small frames,
/// because the kernel counts each packet more than twice.
constexpr int kSocketBytes = 8 << 20;

}  // namespace

int genicamBuffers(double frameRate) {
  return FrameRing::kReserve + static_cast<int>(std::ceil(kFrameRetentionS * frameRate));
}

GenicamStream::GenicamStream(const CameraOptions& options, std::shared_ptr<FrameRing> ring,
                             TriggerQueue& triggers, StreamCounts& counts,
                             const std::atomic<uint64_t>& latestBeginNs)
    : options_(options),
      ring_(std::move(ring)),
      triggers_(triggers),
      counts_(counts),
      latestBeginNs_(latestBeginNs),
      slotBuffers_(static_cast<size_t>(options.ringSize), nullptr) {}

GenicamStream::~GenicamStream() {
  if (ArvStream* const stream = end()) g_object_unref(stream);
}

void GenicamStream::start(ArvCamera* camera) {
  GError* error = nullptr;
  const guint payload = arv_camera_get_payload(camera, &error);
  throwIf(error, options_.name + ": reading the payload size");
  const size_t fits = pixelFormatBytes(options_.pixelFormat, ring_->slotBytes());
  if (payload == 0 || payload > fits) {
    throw GrabberError(GrabberFault::feature, options_.name + ": frames of " + std::to_string(payload) +
                                                  " bytes do not fit the ring's " + std::to_string(fits));
  }
  ArvStream* const stream = arv_camera_create_stream(camera, &GenicamStream::onStreamEvent, nullptr, &error);
  throwIf(error, options_.name + ": creating the stream");
  if (stream == nullptr) throw GrabberError(GrabberFault::refused, options_.name + ": no stream");
  stream_ = stream;
  if (ARV_IS_GV_STREAM(stream)) {
    g_object_set(stream, "socket-buffer", ARV_GV_STREAM_SOCKET_BUFFER_FIXED, "socket-buffer-size",
                 kSocketBytes, "frame-retention", static_cast<guint>(kFrameRetentionS * 1e6), nullptr);
  }
  ring_->setFlowing(true);
  if (direct()) {
    feed();
  } else {
    for (int i = genicamBuffers(options_.frameRate); i > 0; --i) {
      arv_stream_push_buffer(stream_, arv_buffer_new_allocate(payload));
    }
  }
  arv_camera_start_acquisition(camera, &error);
  throwIf(error, options_.name + ": starting the acquisition");
  drainer_ = std::thread([this] { drain(); });
}

void GenicamStream::onStreamEvent(void*, ArvStreamCallbackType type, ArvBuffer*) {
  // The thread that reads the socket: a late look costs packets. Not being allowed costs nothing.
  if (type == ARV_STREAM_CALLBACK_TYPE_INIT) setpriority(PRIO_PROCESS, 0, -10);
}

void GenicamStream::feed() {
  for (int slot = ring_->take(); slot >= 0; slot = ring_->take()) {
    ArvBuffer*& kept = slotBuffers_[static_cast<size_t>(slot)];
    if (kept == nullptr) {
      kept = arv_buffer_new_full(ring_->slotBytes(), ring_->data(slot), GINT_TO_POINTER(slot), nullptr);
    }
    arv_stream_push_buffer(stream_, std::exchange(kept, nullptr));
  }
}

void GenicamStream::drain() {
  pthread_setname_np(pthread_self(), ("grab-" + options_.name).substr(0, 15).c_str());
  while (!stopping_.load(std::memory_order_acquire)) {
    if (direct()) feed();
    ArvBuffer* const buffer = arv_stream_timeout_pop_buffer(stream_, kDrainWaitUs);
    if (buffer != nullptr) take(buffer);
    noteStatistics();
  }
}

void GenicamStream::noteStatistics() {
  guint64 completed = 0;
  guint64 failures = 0;
  guint64 underruns = 0;
  arv_stream_get_statistics(stream_, &completed, &failures, &underruns);
  counts_.underruns.fetch_add(underruns - std::exchange(seenUnderruns_, underruns),
                              std::memory_order_relaxed);
  if (!ARV_IS_GV_STREAM(stream_)) return;
  const guint64 missing = arv_stream_get_info_uint64_by_name(stream_, "n_missing_packets");
  const guint64 resent = arv_stream_get_info_uint64_by_name(stream_, "n_resent_packets");
  counts_.missingPackets.fetch_add(missing - std::exchange(seenMissing_, missing), std::memory_order_relaxed);
  counts_.resentPackets.fetch_add(resent - std::exchange(seenResent_, resent), std::memory_order_relaxed);
}

void GenicamStream::take(ArvBuffer* buffer) {
  const uint64_t arrival = realtime::monotonicNs();
  const ArvBufferStatus status = arv_buffer_get_status(buffer);
  bool delivered = false;
  if (status != ARV_BUFFER_STATUS_CLEARED && status != ARV_BUFFER_STATUS_ABORTED) {
    const uint64_t id = arv_buffer_get_frame_id(buffer);
    uint64_t skipped = 0;
    if (lastFrameId_ != 0 && id != 0) skipped = skippedFrames(lastFrameId_, id);
    if (id != 0) lastFrameId_ = id;
    counts_.gaps.fetch_add(skipped, std::memory_order_relaxed);
    pendingSkips_ += skipped;
    triggers_.lost(skipped);
    delivered = status == ARV_BUFFER_STATUS_SUCCESS && publish(buffer, arrival);
    if (!delivered) {
      counts_.incomplete.fetch_add(1, std::memory_order_relaxed);
      ++pendingSkips_;
      triggers_.lost(1);
    }
  }
  if (direct()) {
    const int slot = GPOINTER_TO_INT(arv_buffer_get_user_data(buffer));
    slotBuffers_[static_cast<size_t>(slot)] = buffer;
    if (!delivered) ring_->giveBack(slot);
  } else {
    arv_stream_push_buffer(stream_, buffer);
  }
}

bool GenicamStream::publish(ArvBuffer* buffer, uint64_t arrivalNs) {
  FrameInfo info;
  gint x = 0;
  gint y = 0;
  arv_buffer_get_image_region(buffer, &x, &y, &info.width, &info.height);
  info.stride = info.width;
  const size_t pixels =
      static_cast<size_t>(std::max(0, info.width)) * static_cast<size_t>(std::max(0, info.height));
  size_t bytes = 0;
  const auto* const data = static_cast<const uint8_t*>(arv_buffer_get_data(buffer, &bytes));
  if (pixels == 0 || pixels > ring_->slotBytes() || data == nullptr ||
      bytes < pixelFormatBytes(options_.pixelFormat, pixels) ||
      arv_buffer_get_image_pixel_format(buffer) != pixelFormatCode(options_.pixelFormat)) {
    return false;
  }
  int slot = 0;
  if (direct()) {
    slot = GPOINTER_TO_INT(arv_buffer_get_user_data(buffer));
  } else {
    slot = ring_->take();
    if (slot < 0) {
      counts_.underruns.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    toMono8(options_.pixelFormat, data, pixels, ring_->data(slot));
  }
  info.deviceTimestampNs = arv_buffer_get_timestamp(buffer);
  info.hostMonotonicNs =
      exposureBeganNs(info.deviceTimestampNs, arrivalNs, readClockPair(), latestBeginNs_.load());
  info.trigger = triggers_.answered(arrivalNs);
  info.repeated = watch_.repeats(ring_->data(slot), pixels);
  ring_->publish(slot, info, std::exchange(pendingSkips_, 0));
  return true;
}

ArvStream* GenicamStream::end() noexcept {
  stopping_.store(true, std::memory_order_release);
  if (drainer_.joinable()) drainer_.join();
  ring_->setFlowing(false);
  if (stream_ == nullptr) return nullptr;
  // After this nobody writes into the slots any more; the buffers inside are deleted, and the slots come
  // home. Aravis' thread is started again, without buffers, because the end of a stream takes it for granted.
  arv_stream_stop_thread(stream_, TRUE);
  arv_stream_start_thread(stream_);
  for (ArvBuffer*& buffer : slotBuffers_) g_clear_object(&buffer);
  ring_->reclaim();
  return std::exchange(stream_, nullptr);
}

}  // namespace surgiclaw::grabber
