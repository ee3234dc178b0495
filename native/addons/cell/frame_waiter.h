// Waits for frames on behalf of promises.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>

#include "surgiclaw/grabber/camera.h"

namespace surgiclaw::cell {

/// One thread per camera that settles the pending waits as frames come and deadlines pass; it sleeps in
/// between and starts with the first wait.
class FrameWaiter {
 public:
  /// Called once, on the waiter's thread or the caller's: either a valid lease or an error.
  using Done = std::function<void(std::shared_ptr<grabber::FrameLease>, std::exception_ptr)>;

  explicit FrameWaiter(std::shared_ptr<grabber::Camera> camera) : camera_(std::move(camera)) {}
  /// As stop().
  ~FrameWaiter() { stop(); }
  FrameWaiter(const FrameWaiter&) = delete;
  FrameWaiter& operator=(const FrameWaiter&) = delete;

  /// The first frame whose exposure began after `afterNs` (CLOCK_MONOTONIC), until `deadlineNs`.
  void await(uint64_t afterNs, uint64_t deadlineNs, Done done);
  /// Something changed: a frame, loss, close.
  void wake();
  /// Ends every pending wait with CAMERA_OFFLINE.
  void cancel();
  /// Cancels and joins. Idempotent.
  void stop();

 private:
  struct Wait {
    uint64_t afterNs;
    uint64_t sinceNs;
    uint64_t deadlineNs;
    Done done;
  };

  void run();
  /// True when the wait was settled.
  bool trySettle(const Wait& wait, uint64_t nowNs);

  const std::shared_ptr<grabber::Camera> camera_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Wait> waits_;
  bool woken_ = false;
  bool settling_ = false;  ///< the thread holds the waits in its hands
  uint64_t cancels_ = 0;
  bool stopped_ = false;
  std::thread thread_;
};
static_assert(!std::is_copy_constructible_v<FrameWaiter> && !std::is_move_constructible_v<FrameWaiter>);

}  // namespace surgiclaw::cell
