#include "surgiclaw/realtime/fixed_rate_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "surgiclaw/realtime/clock.h"

using namespace std::chrono_literals;
using surgiclaw::realtime::FixedRateOptions;
using surgiclaw::realtime::FixedRateThread;
using surgiclaw::realtime::monotonicNs;

namespace {

template <typename Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

FixedRateOptions every(std::chrono::nanoseconds period) {
  FixedRateOptions options;
  options.period = period;
  return options;
}

}  // namespace

TEST(FixedRateThread, ticksOnAGridAndNeverBeforeItsTime) {
  constexpr size_t kTicks = 50;
  std::vector<uint64_t> due(kTicks);
  std::vector<uint64_t> came(kTicks);
  std::atomic<size_t> count{0};
  FixedRateThread thread(every(2ms), [&](uint64_t dueNs) {
    const size_t i = count.load();
    came[i] = monotonicNs();
    due[i] = dueNs;
    count.store(i + 1);
    return i + 1 < kTicks;
  });
  thread.start();
  ASSERT_TRUE(eventually([&] { return !thread.running(); }));
  ASSERT_EQ(count.load(), kTicks);
  for (size_t i = 0; i < kTicks; ++i) {
    EXPECT_GE(came[i], due[i]);
    EXPECT_EQ((due[i] - due[0]) % 2'000'000, 0U) << "a late tick must not shift the grid";
  }
  EXPECT_EQ(thread.stats().ticks, kTicks);
  EXPECT_LE(thread.stats().lateP50Ns, thread.stats().lateP99Ns);
  EXPECT_LE(thread.stats().lateP99Ns, thread.stats().lateMaxNs);
}

TEST(FixedRateThread, skipsAndCountsPeriodsThatASlowTickMissed) {
  std::vector<uint64_t> due;
  due.reserve(8);
  FixedRateThread thread(every(5ms), [&](uint64_t dueNs) {
    due.push_back(dueNs);
    if (due.size() == 1) std::this_thread::sleep_for(23ms);
    return due.size() < 2;
  });
  thread.start();
  ASSERT_TRUE(eventually([&] { return !thread.running(); }));
  // 23 ms of 5 ms periods: at least four have begun, the next tick is due at a later one.
  EXPECT_GE((due[1] - due[0]) / 5'000'000, 4U);
  EXPECT_EQ((due[1] - due[0]) % 5'000'000, 0U);
  EXPECT_EQ(thread.stats().overruns, (due[1] - due[0]) / 5'000'000 - 1);
}

TEST(FixedRateThread, stopsDuringALongPeriodAndStartsAgain) {
  std::atomic<int> ticks{0};
  FixedRateThread slow(every(1h), [](uint64_t) { return true; });
  slow.start();
  EXPECT_THROW(slow.start(), std::logic_error);
  const uint64_t before = monotonicNs();
  slow.stop();
  EXPECT_LT(monotonicNs() - before, 10'000'000'000U);
  FixedRateThread again(every(1ms), [&](uint64_t) { return ++ticks % 3 != 0; });
  again.start();
  ASSERT_TRUE(eventually([&] { return !again.running(); }));
  again.start();
  ASSERT_TRUE(eventually([&] { return ticks.load() == 6; }));
}

TEST(FixedRateThread, refusesSenselessOptions) {
  EXPECT_THROW(FixedRateThread(every(0ns), [](uint64_t) { return false; }), std::invalid_argument);
  EXPECT_THROW(FixedRateThread(every(1ms), nullptr), std::invalid_argument);
  FixedRateOptions tooHigh = every(1ms);
  tooHigh.priority = 100;
  EXPECT_THROW(FixedRateThread(tooHigh, [](uint64_t) { return false; }), std::invalid_argument);
}
