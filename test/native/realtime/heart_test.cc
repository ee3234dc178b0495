#include "surgiclaw/realtime/heart.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "surgiclaw/realtime/clock.h"

using namespace std::chrono_literals;
using surgiclaw::realtime::Beat;
using surgiclaw::realtime::Heart;
using surgiclaw::realtime::HeartOptions;
using surgiclaw::realtime::monotonicNs;

namespace {

/// Next beat within 10 s; false at the end of the stream or when nothing comes.
bool readBeat(int fd, Beat& beat, int timeoutMs = 10'000) {
  unsigned char bytes[24];
  size_t got = 0;
  while (got < sizeof(bytes)) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, timeoutMs) <= 0) return false;
    const ssize_t n = read(fd, bytes + got, sizeof(bytes) - got);
    if (n <= 0) return false;
    got += static_cast<size_t>(n);
  }
  std::memcpy(&beat, bytes, sizeof(beat));
  return true;
}

HeartOptions onDescriptor(int fd) {
  HeartOptions options;
  options.fd = fd;
  options.limit = 2s;
  return options;
}

}  // namespace

TEST(Heart, layoutIsTwentyFourLittleEndianBytes) {
  Beat beat;
  beat.sequence = 0x01020304;
  beat.monotonicNs = 0x1112131415161718;
  beat.flags = 1;
  beat.retractToMicrosteps = -2;
  unsigned char bytes[24];
  std::memcpy(bytes, &beat, sizeof(bytes));
  const unsigned char expected[24] = {0x57, 0x4C, 0x43, 0x53, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15,
                                      0x14, 0x13, 0x12, 0x11, 1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF};
  EXPECT_EQ(std::memcmp(bytes, expected, sizeof(bytes)), 0);
}

TEST(Heart, beatsOverAPipeWithRisingSequenceAndTheNeedleState) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Heart heart(onDescriptor(ends[1]));
  close(ends[1]);  // it has its own
  Beat first;
  Beat second;
  ASSERT_TRUE(readBeat(ends[0], first));
  ASSERT_TRUE(readBeat(ends[0], second));
  EXPECT_EQ(first.sequence, 1U);
  EXPECT_EQ(second.sequence, 2U);
  EXPECT_GT(second.monotonicNs, first.monotonicNs);
  EXPECT_LE(second.monotonicNs, monotonicNs());
  EXPECT_EQ(second.flags, 0U);
  heart.setNeedle(true, -12345);
  Beat later;
  for (int i = 0; i < 1000; ++i) {
    heart.touch();
    ASSERT_TRUE(readBeat(ends[0], later));
    if (later.flags != 0) break;
  }
  EXPECT_EQ(later.flags, 1U);
  EXPECT_EQ(later.retractToMicrosteps, -12345);
  EXPECT_TRUE(heart.status().guardianAlive);
  EXPECT_GE(heart.status().beats, 2U);
  heart.stop();
  Beat rest;
  while (readBeat(ends[0], rest)) {
  }
  unsigned char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "stop() ends the stream";
  close(ends[0]);
}

TEST(Heart, fallsSilentWhenTheEventLoopHangsAndBeatsAgain) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  HeartOptions options = onDescriptor(ends[1]);
  options.limit = 60ms;
  Heart heart(options);
  // Nobody touches it: beats cease once the limit has passed, whatever the load.
  std::this_thread::sleep_for(200ms);
  Beat beat;
  uint64_t last = 0;
  while (readBeat(ends[0], beat, 0)) last = beat.monotonicNs;
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(readBeat(ends[0], beat, 0));
  EXPECT_GT(last, 0U);
  EXPECT_GT(heart.status().eventLoopAgeNs, 60'000'000U);
  bool again = false;
  for (int i = 0; i < 400 && !again; ++i) {
    heart.touch();
    again = readBeat(ends[0], beat, 25);
  }
  EXPECT_TRUE(again);
  EXPECT_GT(beat.monotonicNs, last);
  close(ends[0]);
  close(ends[1]);
}

TEST(Heart, survivesAReaderThatDiesAndSaysSo) {
  for (const bool socket : {false, true}) {
    int ends[2];
    ASSERT_EQ(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
    Heart heart(onDescriptor(ends[1]));
    close(ends[0]);
    bool noticed = false;
    for (int i = 0; i < 1000 && !noticed; ++i) {
      heart.touch();
      std::this_thread::sleep_for(5ms);
      noticed = !heart.status().guardianAlive;
    }
    EXPECT_TRUE(noticed);
    close(ends[1]);
  }
}

TEST(Heart, doesNotWaitForAReaderThatDoesNotRead) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_GT(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
  HeartOptions options = onDescriptor(ends[1]);
  options.period = 1ms;
  options.limit = 50ms;
  Heart heart(options);
  // 4096 bytes hold 170 beats; then the writer must go on without it, and call the guardian dead.
  bool noticed = false;
  for (int i = 0; i < 1000 && !noticed; ++i) {
    heart.touch();
    std::this_thread::sleep_for(5ms);
    noticed = !heart.status().guardianAlive;
  }
  EXPECT_TRUE(noticed);
  EXPECT_GT(heart.status().lateBeats, 0U);
  Beat beat;
  uint32_t expected = 0;
  while (readBeat(ends[0], beat, 0) && expected < 170) EXPECT_EQ(beat.sequence, ++expected);
  close(ends[0]);
  close(ends[1]);
}
