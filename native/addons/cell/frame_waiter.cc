#include "frame_waiter.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "environment.h"
#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::cell {

namespace {

std::exception_ptr offline(const std::string& name, const char* why) {
  return std::make_exception_ptr(CodedError("CAMERA_OFFLINE", name + ": " + why));
}

}  // namespace

void FrameWaiter::await(uint64_t afterNs, uint64_t deadlineNs, Done done) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stopped_) {
      waits_.push_back({afterNs, realtime::monotonicNs(), deadlineNs, std::move(done)});
      woken_ = true;
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      changed_.notify_one();
      return;
    }
  }
  done(nullptr, offline(camera_->name(), "the camera is closing"));
}

void FrameWaiter::wake() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waits_.empty() && !settling_) return;
    woken_ = true;
  }
  changed_.notify_one();
}

void FrameWaiter::cancel() {
  std::list<Wait> ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended.swap(waits_);
    ++cancels_;
  }
  for (const Wait& wait : ended) wait.done(nullptr, offline(camera_->name(), "the camera was closed"));
}

void FrameWaiter::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  cancel();
}

bool FrameWaiter::trySettle(const Wait& wait, uint64_t nowNs) {
  try {
    grabber::FrameLease lease = camera_->waitExposedAfter(wait.afterNs, std::chrono::nanoseconds::zero());
    if (lease.valid()) {
      wait.done(std::make_shared<grabber::FrameLease>(std::move(lease)), nullptr);
      return true;
    }
  } catch (...) {
    wait.done(nullptr, std::current_exception());
    return true;
  }
  if (camera_->lost()) {
    wait.done(nullptr, offline(camera_->name(), "control of the camera was lost"));
    return true;
  }
  if (nowNs < wait.deadlineNs) return false;
  char elapsed[32];
  std::snprintf(elapsed, sizeof(elapsed), "%.3f", static_cast<double>(nowNs - wait.sinceNs) * 1e-9);
  wait.done(nullptr, std::make_exception_ptr(CodedError(
                         "LINK_TIMEOUT", camera_->name() + ": no new frame after " + elapsed + " s")));
  return true;
}

void FrameWaiter::run() {
  pthread_setname_np(pthread_self(), "frame-waiter");
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_) {
    woken_ = false;
    settling_ = true;
    const uint64_t cancels = cancels_;
    // Settled outside the lock: a delivery may take it again. A cancel that comes meanwhile is seen
    // afterwards.
    std::list<Wait> pending;
    pending.swap(waits_);
    lock.unlock();
    const uint64_t now = realtime::monotonicNs();
    pending.remove_if([&](const Wait& wait) { return trySettle(wait, now); });
    lock.lock();
    settling_ = false;
    if (cancels != cancels_) {
      lock.unlock();
      for (const Wait& wait : pending) wait.done(nullptr, offline(camera_->name(), "the camera was closed"));
      lock.lock();
      continue;
    }
    waits_.splice(waits_.begin(), pending);
    if (stopped_ || woken_) continue;
    const auto ready = [this] { return stopped_ || woken_; };
    if (waits_.empty()) {
      changed_.wait(lock, ready);
      continue;
    }
    const uint64_t first = std::min_element(waits_.begin(), waits_.end(), [](const Wait& a, const Wait& b) {
                             return a.deadlineNs < b.deadlineNs;
                           })->deadlineNs;
    const uint64_t at = realtime::monotonicNs();
    if (first > at) changed_.wait_for(lock, std::chrono::nanoseconds(first - at), ready);
  }
}

}  // namespace surgiclaw::cell
