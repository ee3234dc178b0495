#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "surgiclaw/realtime/lateness_histogram.h"

namespace surgiclaw::realtime {

struct FixedRateOptions {
  std::string name = "fixed-rate";  ///< thread name, cut to 15 characters
  std::chrono::nanoseconds period{1'000'000};
  /// SCHED_FIFO priority (1…99) that is tried; 0 leaves normal scheduling. Not being allowed is no error: see
  /// FixedRateThread::realtime().
  int priority = 50;
  size_t stackBytes = 1024 * 1024;  ///< thread-local data of every loaded library counts in
};

struct FixedRateStats {
  uint64_t ticks = 0;
  uint64_t overruns = 0;  ///< periods that were skipped because a tick took too long or came too late
  uint64_t lateMaxNs = 0;
  uint64_t lateP50Ns = 0;
  uint64_t lateP99Ns = 0;
  uint64_t lateP999Ns = 0;
};

/// Calls a function at absolute times start + n · period of CLOCK_MONOTONIC. Being late neither shifts the
/// later ticks nor makes them come in bursts: whole periods that were missed are skipped and counted.
///
/// The stack is the thread's own, touched and locked in memory where the limit allows (never mlockall: it
/// would kill Node, twin-imaging.md 8).
class FixedRateThread {
 public:
  /// Runs in the thread with the time it was due, ns. Must not allocate, lock, throw or log. False ends the
  /// thread.
  using Tick = std::function<bool(uint64_t dueNs)>;

  FixedRateThread(FixedRateOptions options, Tick tick);
  /// Stops and joins.
  ~FixedRateThread();
  FixedRateThread(const FixedRateThread&) = delete;
  FixedRateThread& operator=(const FixedRateThread&) = delete;

  /// First tick one period from now. @throws std::logic_error when running already, std::system_error when
  /// the system gives no thread or stack.
  void start();
  /// Waits for the tick under way; at most one period longer. Idempotent. Not from within a tick.
  void stop();
  bool running() const noexcept { return alive_.load(std::memory_order_acquire); }
  /// SCHED_FIFO was granted. Known after start(); when false the owner logs a warning.
  bool realtime() const noexcept { return realtime_; }
  /// The stack is locked in memory. Known after start().
  bool memoryLocked() const noexcept { return locked_; }
  FixedRateStats stats() const noexcept;

 private:
  static void* enter(void* self);
  void loop() noexcept;
  void freeStack() noexcept;

  const FixedRateOptions options_;
  const Tick tick_;
  LatenessHistogram lateness_;
  std::atomic<uint64_t> ticks_{0};
  std::atomic<uint64_t> overruns_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> alive_{false};
  bool realtime_ = false;
  bool locked_ = false;
  bool joinable_ = false;
  void* stack_ = nullptr;
  size_t stackSize_ = 0;
  pthread_t thread_{};
};
static_assert(!std::is_copy_constructible_v<FixedRateThread> &&
              !std::is_move_constructible_v<FixedRateThread>);

/// Locks [address, address + bytes) in memory so that real-time code never waits for a page. False when not
/// permitted.
bool lockMemory(const void* address, size_t bytes) noexcept;

}  // namespace surgiclaw::realtime
