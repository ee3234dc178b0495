#include "surgiclaw/realtime/fixed_rate_thread.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "surgiclaw/realtime/clock.h"

namespace surgiclaw::realtime {

bool lockMemory(const void* address, size_t bytes) noexcept { return mlock(address, bytes) == 0; }

FixedRateThread::FixedRateThread(FixedRateOptions options, Tick tick)
    : options_(std::move(options)), tick_(std::move(tick)) {
  if (options_.period <= std::chrono::nanoseconds::zero())
    throw std::invalid_argument("period must be positive");
  if (options_.priority < 0 || options_.priority > 99) throw std::invalid_argument("priority is 0…99");
  if (!tick_) throw std::invalid_argument("a fixed-rate thread needs a function");
}

FixedRateThread::~FixedRateThread() { stop(); }

void FixedRateThread::start() {
  if (running()) throw std::logic_error("the fixed-rate thread runs already");
  stop();  // joins one that ended by itself
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t wanted = std::max<size_t>(options_.stackBytes, static_cast<size_t>(PTHREAD_STACK_MIN));
  stackSize_ = (wanted + page - 1) / page * page + page;  // and a guard page below
  stack_ = mmap(nullptr, stackSize_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack_ == MAP_FAILED) {
    stack_ = nullptr;
    throw std::system_error(errno, std::generic_category(), "no memory for a thread's stack");
  }
  mprotect(stack_, page, PROT_NONE);
  char* const usable = static_cast<char*>(stack_) + page;
  locked_ = lockMemory(usable, stackSize_ - page);
  // Without the lock the pages are at least there when the first tick comes.
  if (!locked_) std::memset(usable, 0, stackSize_ - page);

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, usable, stackSize_ - page);
  stopping_.store(false);
  alive_.store(true);
  realtime_ = false;
  int error = EPERM;
  if (options_.priority > 0) {
    sched_param priority{};
    priority.sched_priority = options_.priority;
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    error = pthread_create(&thread_, &attributes, &FixedRateThread::enter, this);
    realtime_ = error == 0;
  }
  if (error != 0) {
    sched_param none{};
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &none);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    error = pthread_create(&thread_, &attributes, &FixedRateThread::enter, this);
  }
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    alive_.store(false);
    freeStack();
    throw std::system_error(error, std::generic_category(), "no thread for " + options_.name);
  }
  joinable_ = true;
}

void FixedRateThread::stop() {
  stopping_.store(true, std::memory_order_release);
  if (std::exchange(joinable_, false)) pthread_join(thread_, nullptr);
  freeStack();
}

void FixedRateThread::freeStack() noexcept {
  if (void* const stack = std::exchange(stack_, nullptr)) munmap(stack, stackSize_);
}

void* FixedRateThread::enter(void* self) {
  auto* const thread = static_cast<FixedRateThread*>(self);
  pthread_setname_np(pthread_self(), thread->options_.name.substr(0, 15).c_str());
  thread->loop();
  thread->alive_.store(false, std::memory_order_release);
  return nullptr;
}

void FixedRateThread::loop() noexcept {
  // Waits longer than this are cut up so that stop() need not sit out a long period.
  constexpr uint64_t kLongestNap = 100'000'000;
  const uint64_t period = static_cast<uint64_t>(options_.period.count());
  uint64_t due = monotonicNs() + period;
  while (true) {
    for (uint64_t now = monotonicNs(); now < due; now = monotonicNs()) {
      if (stopping_.load(std::memory_order_acquire)) return;
      sleepUntil(std::min(due, now + kLongestNap));
    }
    if (stopping_.load(std::memory_order_acquire)) return;
    lateness_.add(monotonicNs() - due);
    ticks_.fetch_add(1, std::memory_order_relaxed);
    if (!tick_(due)) return;
    due += period;
    const uint64_t after = monotonicNs();
    if (after >= due + period) {
      const uint64_t missed = (after - due) / period;
      overruns_.fetch_add(missed, std::memory_order_relaxed);
      due += missed * period;
    }
  }
}

FixedRateStats FixedRateThread::stats() const noexcept {
  FixedRateStats stats;
  stats.ticks = ticks_.load(std::memory_order_relaxed);
  stats.overruns = overruns_.load(std::memory_order_relaxed);
  stats.lateMaxNs = lateness_.maxNs();
  stats.lateP50Ns = lateness_.quantileNs(0.50);
  stats.lateP99Ns = lateness_.quantileNs(0.99);
  stats.lateP999Ns = lateness_.quantileNs(0.999);
  return stats;
}

}  // namespace surgiclaw::realtime
