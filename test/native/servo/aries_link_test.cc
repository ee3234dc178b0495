#include "surgiclaw/servo/aries_link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "fake_aries.h"
#include "surgiclaw/servo/stage_line.h"

namespace surgiclaw::servo {
namespace {

using namespace std::chrono_literals;

AriesReply parsed(const std::string& line) {
  AriesReply reply;
  EXPECT_TRUE(parseAriesReply(line.data(), line.size(), reply)) << line;
  return reply;
}

bool refused(const std::string& line) {
  AriesReply reply;
  return !parseAriesReply(line.data(), line.size(), reply);
}

// Lines as the manual prints them (stages-needle-cameras.md A1, A2).
TEST(AriesWire, takesRepliesApart) {
  const AriesReply status = parsed("C\tSTR12\t1\t0\t3\t2\t0\t1");
  EXPECT_TRUE(status.is("STR", 12));
  ASSERT_EQ(status.valueCount, 6);
  EXPECT_EQ(status.values[0], 1);
  EXPECT_EQ(status.values[3], 2);
  EXPECT_EQ(parsed("C\tRDP3\t-134217728").values[0], -134217728);
  EXPECT_EQ(parsed("E\tAPS1\t309").code(), 309);
  EXPECT_EQ(parsed("W\tAPS2\t350").code(), 350);
  EXPECT_TRUE(parsed("C\tSTP0").is("STP", 0));
  const AriesReply emergency = parsed("E\tSYS\t5");
  EXPECT_TRUE(emergency.spontaneous());
  EXPECT_EQ(emergency.axis, -1);
  EXPECT_EQ(emergency.code(), 5);
  // A field that is no number ends the list, it is not guessed at.
  EXPECT_EQ(parsed("C\tIDN\tARIES\t1\t4\t4").valueCount, 0);
}

TEST(AriesWire, refusesWhatIsNoReply) {
  for (const char* line :
       {"", "C", "C\t", "C\tAP", "X\tAPS1", "C APS1", "C\taps1", "C\tAPS1x", "C\tAPS-1", "C\tAPS99",
        "\x02"
        "C\tAPS1"}) {
    EXPECT_TRUE(refused(line)) << line;
  }
}

TEST(AriesWire, framesBytesInAnyPieces) {
  const std::string stream = "C\tRDP1\t7\r\nE\tSYS\t5\r\ngarbage\r\nC\tSTP0\r\n";
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    AriesLines lines;
    std::string seen;
    for (size_t at = 0; at < stream.size(); at += piece) {
      const size_t length = std::min(piece, stream.size() - at);
      std::memcpy(lines.space(), stream.data() + at, length);
      lines.filled(length);
      AriesReply reply;
      while (lines.next(reply)) seen += std::string(reply.command.data()) + " ";
    }
    EXPECT_EQ(seen, "RDP SYS STP ") << piece;
    EXPECT_EQ(lines.malformed(), 1U);
  }
}

TEST(AriesWire, dropsAnEndlessLineWhole) {
  AriesLines lines;
  AriesReply reply;
  for (int i = 0; i < 40; ++i) {
    const size_t length = std::min<size_t>(lines.room(), 32);
    std::memset(lines.space(), 'C', length);
    lines.filled(length);
    EXPECT_FALSE(lines.next(reply));
  }
  EXPECT_GE(lines.overlong(), 1U);
  // The rest of the endless line ends here; what follows is whole again.
  const std::string rest = "C\tRDP1\t7\r\nC\tRDP2\t8\r\n";
  std::memcpy(lines.space(), rest.data(), rest.size());
  lines.filled(rest.size());
  ASSERT_TRUE(lines.next(reply));
  EXPECT_TRUE(reply.is("RDP", 2));
}

TEST(AriesLines, anOverlongLineDoesNotTakeTheNextOneWithIt) {
  // Wherever its end falls in the buffer, between CR and LF too.
  for (size_t length = 500; length < 530; ++length) {
    AriesLines lines;
    const std::string bytes = std::string(length, 'x') + "\r\nC\tRDP1\t7\r\n";
    AriesReply reply;
    bool read = false;
    for (const char byte : bytes) {
      *lines.space() = byte;
      lines.filled(1);
      read = lines.next(reply) || read;
    }
    EXPECT_TRUE(read && reply.is("RDP", 1)) << length;
  }
}

/// One end for the link, the other for the test to play controller on.
class PairedLink : public ::testing::Test {
 protected:
  void open(AriesFraming framing, int statusFields = 6) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    link = std::make_unique<AriesLink>(ends[0], framing, statusFields);
    device = ends[1];
  }
  void TearDown() override { ::close(device); }
  void say(const std::string& bytes) {
    ASSERT_EQ(::write(device, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  }
  std::string heard() {
    char bytes[256];
    const ssize_t got = ::read(device, bytes, sizeof bytes);
    return got > 0 ? std::string(bytes, static_cast<size_t>(got)) : "";
  }
  std::unique_ptr<AriesLink> link;
  int device = -1;
};

TEST_F(PairedLink, sendsStxOnSerialAndNotOverTcp) {
  open(AriesFraming::kSerial);
  say("C\tAPS1\r\n");
  EXPECT_TRUE(link->moveAbsolute(1, 5, -22500, 1s).ok());
  EXPECT_EQ(heard(),
            "\x02"
            "APS1/5/-22500/1\r\n");
  ::close(device);
  open(AriesFraming::kTcp);
  say("C\tSTP0\r\n");
  EXPECT_TRUE(link->stop(0, true, 1s).ok());
  EXPECT_EQ(heard(), "STP0/1\r\n");
}

TEST_F(PairedLink, matchesByCommandAndAxisAndRoutesSystemLinesAside) {
  open(AriesFraming::kTcp);
  say("E\tSYS\t5\r\nC\tRDP2\t99\r\nC\tSTR1\t0\t0\t0\t0\t0\t1\r\nC\tRDP1\t42\r\n");
  int32_t pulses = 0;
  EXPECT_TRUE(link->position(1, pulses, 1s).ok());
  EXPECT_EQ(pulses, 42);
  EXPECT_EQ(link->systemError(), 5);
  EXPECT_EQ(link->strayReplies(), 2U);
}

TEST_F(PairedLink, takesAnErrorThatNamesNoAxis) {
  open(AriesFraming::kTcp);
  say("E\tAPS\t100\r\n");
  const LinkReply reply = link->moveAbsolute(1, 5, 10, 1s);
  EXPECT_EQ(reply.result, LinkResult::kRefused);
  EXPECT_EQ(reply.code, 100);
}

TEST_F(PairedLink, givesUpAtTheDeadlineAndComesBackInStep) {
  open(AriesFraming::kTcp);
  int32_t pulses = 0;
  const double startS = test::nowS();
  EXPECT_EQ(link->position(1, pulses, 30ms).result, LinkResult::kTimeout);
  EXPECT_GE(test::nowS() - startS, 0.03);
  say("C\tRDP1\t1\r\n");  // too late
  std::thread controller([this] {
    std::string all;
    while (all.find("IDN") == std::string::npos) {
      all += heard();
      std::this_thread::sleep_for(1ms);
    }
    say("C\tIDN\tARIES\t1\t4\t4\r\n");
  });
  EXPECT_TRUE(link->resync(2s).ok());
  controller.join();
  say("C\tRDP1\t2\r\n");
  EXPECT_TRUE(link->position(1, pulses, 1s).ok());
  EXPECT_EQ(pulses, 2);
}

TEST_F(PairedLink, reportsAClosedConnection) {
  open(AriesFraming::kTcp);
  ::shutdown(device, SHUT_RDWR);
  int32_t pulses = 0;
  EXPECT_EQ(link->position(1, pulses, 1s).result, LinkResult::kClosed);
}

TEST_F(PairedLink, countsADamagedStatusAsNoReply) {
  open(AriesFraming::kTcp);
  say("C\tSTR1\t0\t0\r\n");
  AxisStatus status;
  EXPECT_EQ(link->status(1, status, 1s).result, LinkResult::kTimeout);
}

// Public programs for the CRUX disagree: one has a field for each limit and none for encoder and soft limit.
TEST_F(PairedLink, takesTheShorterStatusOfSomeCrux) {
  open(AriesFraming::kTcp, 5);
  say("C\tSTR1\t1\t0\t0\t0\t0\r\n");
  AxisStatus status;
  EXPECT_TRUE(link->status(1, status, 1s).ok());
  EXPECT_EQ(status.driving, 1);
}

TEST(OpenStageLine, duplicatesALineThatIsLent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  StageLine line;
  line.descriptor = ends[0];
  std::string error;
  const int fd = openStageLine(line, 1s, error);
  EXPECT_GE(fd, 0);
  EXPECT_NE(fd, ends[0]);
  ::close(fd);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(openStageLine(line, 1s, error), -1);
  EXPECT_FALSE(error.empty());
}

TEST(ConnectTcp, saysWhyItFails) {
  std::string error;
  int port = 0;
  { port = test::FakeAries().port(); }  // nobody listens there any more
  EXPECT_EQ(connectTcp("127.0.0.1", port, 500ms, error), -1);
  EXPECT_FALSE(error.empty());
}

}  // namespace
}  // namespace surgiclaw::servo
