#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

namespace surgiclaw::grabber {

/// Which frame answers which trigger. A camera answers triggers in order, one frame each, so they are paired
/// by counting frame numbers: a frame that was lost on the wire takes its trigger with it. A trigger that the
/// camera never answered (it came during an exposure) would shift all that follow; therefore one that grew
/// too old is given up. Any thread.
class TriggerQueue {
 public:
  /// A trigger is on its way out. Returns its number, from 1.
  uint64_t fired(uint64_t monotonicNs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    giveUpOld(monotonicNs);
    waiting_.push_back({++last_, monotonicNs});
    return last_;
  }
  /// The camera refused the newest trigger.
  void refused(uint64_t trigger) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!waiting_.empty() && waiting_.back().number == trigger) waiting_.pop_back();
  }
  /// `frames` frames came to nothing.
  void lost(uint64_t frames) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (; frames > 0 && !waiting_.empty(); --frames) {
      waiting_.pop_front();
      ++unanswered_;
    }
  }
  /// A frame came: the number of its trigger, 0 when none was out.
  uint64_t answered(uint64_t monotonicNs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    giveUpOld(monotonicNs);
    if (waiting_.empty()) return 0;
    const uint64_t number = waiting_.front().number;
    waiting_.pop_front();
    return number;
  }
  /// How long the oldest trigger has been out; 0 when none is.
  uint64_t waitingNs(uint64_t monotonicNs) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty() || monotonicNs < waiting_.front().firedNs) return 0;
    return monotonicNs - waiting_.front().firedNs;
  }
  /// Triggers that no frame answered.
  uint64_t unanswered() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return unanswered_;
  }
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    unanswered_ += waiting_.size();
    waiting_.clear();
  }
  /// From now on a trigger counts as unanswered after this long.
  void setPatience(uint64_t ns) {
    const std::lock_guard<std::mutex> lock(mutex_);
    patienceNs_ = ns;
  }

 private:
  struct Trigger {
    uint64_t number;
    uint64_t firedNs;
  };

  void giveUpOld(uint64_t nowNs) {
    while (!waiting_.empty() && nowNs > waiting_.front().firedNs + patienceNs_) {
      waiting_.pop_front();
      ++unanswered_;
    }
  }

  mutable std::mutex mutex_;
  std::deque<Trigger> waiting_;
  uint64_t last_ = 0;
  uint64_t unanswered_ = 0;
  uint64_t patienceNs_ = 2'000'000'000;
};

}  // namespace surgiclaw::grabber
