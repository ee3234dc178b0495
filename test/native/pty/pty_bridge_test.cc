#include "surgiclaw/pty/pty_bridge.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <system_error>
#include <thread>

namespace {

using surgiclaw::pty::PtyBridge;

std::string temporaryFolder() {
  std::string path = "/tmp/pty-bridge-XXXXXX";
  return mkdtemp(path.data());
}

std::string readExactly(int descriptor, std::size_t count) {
  std::string text(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const ssize_t got = read(descriptor, text.data() + have, count - have);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

TEST(PtyBridge, CarriesEveryByteBothWaysAndSurvivesClients) {
  const std::string link = temporaryFolder() + "/needle";
  std::array<int, 2> toBridge{}, fromBridge{};
  ASSERT_EQ(pipe(toBridge.data()), 0);
  ASSERT_EQ(pipe(fromBridge.data()), 0);
  {
    PtyBridge bridge(link);
    std::thread runner([&] { bridge.run(toBridge[0], fromBridge[1]); });
    // Control characters that a cooked terminal would swallow or change: CR, LF, STX, ^C, ^D, XON, XOFF,
    // 0xFF.
    const std::string bytes("\r\n\x02\x03\x04\x11\x13\xff\x00 end", 13);
    for (int client = 0; client < 3; ++client) {
      const int terminal = open(link.c_str(), O_RDWR | O_NOCTTY);
      ASSERT_GE(terminal, 0);
      ASSERT_EQ(write(terminal, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
      EXPECT_EQ(readExactly(fromBridge[0], bytes.size()), bytes);
      ASSERT_EQ(write(toBridge[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
      EXPECT_EQ(readExactly(terminal, bytes.size()), bytes);
      close(terminal);
    }
    close(toBridge[1]);
    runner.join();
  }
  struct stat found {};
  EXPECT_NE(lstat(link.c_str(), &found), 0) << "the link is removed at the end";
}

TEST(PtyBridge, DropsWhatNobodyReadsInsteadOfBlocking) {
  const std::string link = temporaryFolder() + "/needle";
  std::array<int, 2> toBridge{}, fromBridge{};
  ASSERT_EQ(pipe(toBridge.data()), 0);
  ASSERT_EQ(pipe(fromBridge.data()), 0);
  PtyBridge bridge(link);
  std::thread runner([&] { bridge.run(toBridge[0], fromBridge[1]); });
  const std::string block(4096, 'x');
  for (int i = 0; i < 64; ++i)
    ASSERT_EQ(write(toBridge[1], block.data(), block.size()), static_cast<ssize_t>(block.size()));
  close(toBridge[1]);
  runner.join();  // would hang if the bridge waited for a reader
}

TEST(PtyBridge, LeavesForeignFilesAlone) {
  const std::string file = temporaryFolder() + "/notes.txt";
  const int descriptor = open(file.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(descriptor, 0);
  close(descriptor);
  EXPECT_THROW(PtyBridge{file}, std::system_error);
  EXPECT_EQ(access(file.c_str(), F_OK), 0);
}

}  // namespace
