// What may end a run from outside. Asked at every wait of the servo thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

#include "surgiclaw/servo/outcome.h"

namespace surgiclaw::servo {

class Watch {
 public:
  /// Says why nothing may move any more (event loop silent, guardian gone), nullptr while all is well. Must
  /// not block.
  using Vitals = std::function<const char*()>;

  Watch(Vitals vitals, std::chrono::nanoseconds limit)
      : vitals_(std::move(vitals)), deadline_(std::chrono::steady_clock::now() + limit) {}

  /// Any thread; lock-free.
  void requestStop() noexcept { stop_.store(true); }
  bool stopRequested() const noexcept { return stop_.load(); }

  /// The reason to end now, if there is one: a request first, then the vitals, then the time.
  std::optional<Ending> ended() const;

 private:
  std::atomic<bool> stop_{false};
  Vitals vitals_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace surgiclaw::servo
