// The guardian as a process, between a daemon that the test plays and devices that it fakes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../servo/fake_aries.h"
#include "surgiclaw/realtime/beat.h"

namespace surgiclaw::guardian {
namespace {

using namespace std::chrono_literals;
using servo::test::FakeAries;
using servo::test::nowS;

/// Generous: the machine that runs the tests may be busy.
constexpr double kPatienceS = 5;

class Process : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/guardian-test-XXXXXX";
    const int fd = ::mkstemp(name);
    ASSERT_GE(fd, 0);
    ::close(fd);
    log = name;
    ASSERT_EQ(::openpty(&needleMaster, &needleSlave, nullptr, nullptr, nullptr), 0);
    termios raw{};
    ::tcgetattr(needleSlave, &raw);
    ::cfmakeraw(&raw);
    ::tcsetattr(needleSlave, TCSANOW, &raw);
    ::fcntl(needleMaster, F_SETFL, O_NONBLOCK);
  }

  void TearDown() override {
    if (beatFd >= 0) ::close(beatFd);
    if (child > 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    for (const int fd : {statusFd, needleMaster, needleSlave}) {
      if (fd >= 0) ::close(fd);
    }
    ::unlink(log.c_str());
  }

  void start(int stagePort, int silenceMs = 300, const char* needleOption = "--needle-fd") {
    startWith({"--aries-tcp", "127.0.0.1:" + std::to_string(stagePort), needleOption, "112"}, silenceMs);
  }

  /// @param links options; the pseudo-terminal is descriptor 112
  void startWith(const std::vector<std::string>& links, int silenceMs) {
    int beats[2];
    int status[2];
    ASSERT_EQ(::pipe2(beats, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(status, O_CLOEXEC), 0);
    const std::string silence = std::to_string(silenceMs);
    child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Far above any number a pipe may have got here, however many descriptors were inherited.
      ::dup2(beats[0], 110);
      ::dup2(status[1], 111);
      ::dup2(needleSlave, 112);
      std::vector<std::string> arguments{"guardian", "--beat-fd", "110", "--status-fd", "111", "--silence-ms",
                                         silence,    "--log",     log};
      arguments.insert(arguments.end(), links.begin(), links.end());
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      ::execv(GUARDIAN_PROGRAM, pointers.data());
      ::_exit(127);
    }
    ::close(beats[0]);
    ::close(status[1]);
    beatFd = beats[1];
    statusFd = status[0];
    ::fcntl(statusFd, F_SETFL, O_NONBLOCK);
  }

  void beat(uint32_t flags = 0, int32_t retractTo = 0) {
    realtime::Beat beat;
    beat.sequence = ++sequence;
    beat.monotonicNs = static_cast<uint64_t>(nowS() * 1e9);
    beat.flags = flags;
    beat.retractToMicrosteps = retractTo;
    ASSERT_EQ(::write(beatFd, &beat, sizeof beat), ssize_t{sizeof beat});
  }

  /// Beats every 5 ms until `done` says so.
  template <typename Done>
  bool beatUntil(Done done, uint32_t flags = 0, int32_t retractTo = 0) {
    const double untilS = nowS() + kPatienceS;
    while (nowS() < untilS) {
      if (done()) return true;
      beat(flags, retractTo);
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

  template <typename Done>
  bool waitUntil(Done done) {
    const double untilS = nowS() + kPatienceS;
    while (nowS() < untilS) {
      if (done()) return true;
      std::this_thread::sleep_for(2ms);
    }
    return false;
  }

  bool statusSays(const std::string& text) {
    char bytes[1024];
    ssize_t got = 0;
    while ((got = ::read(statusFd, bytes, sizeof bytes)) > 0)
      statusText.append(bytes, static_cast<size_t>(got));
    const size_t end = statusText.rfind('\n');
    if (end == std::string::npos) return false;
    const size_t begin = statusText.rfind('\n', end - 1);
    return statusText.substr(begin == std::string::npos ? 0 : begin, end).find(text) != std::string::npos;
  }
  bool armed() { return statusSays("\"armed\":true"); }

  const std::string& needleHeard() {
    char bytes[256];
    ssize_t got = 0;
    while ((got = ::read(needleMaster, bytes, sizeof bytes)) > 0)
      needleText.append(bytes, static_cast<size_t>(got));
    return needleText;
  }

  int exitStatus() {
    int status = 0;
    int result = 0;
    waitUntil([&] { return (result = ::waitpid(child, &status, WNOHANG)) != 0; });
    if (result != child) return -1;
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
  }

  std::string logText() const {
    std::ifstream file(log);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  FakeAries stage;
  std::string log;
  pid_t child = 0;
  int beatFd = -1;
  int statusFd = -1;
  int needleMaster = -1;
  int needleSlave = -1;
  uint32_t sequence = 0;
  std::string statusText;
  std::string needleText;
};

TEST_F(Process, stopsEverythingWhenTheDaemonEnds) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  EXPECT_TRUE(stage.commands().empty());
  EXPECT_EQ(needleHeard(), "");
  // The daemon dies within a command.
  ASSERT_EQ(::write(needleSlave, "/1 1 move abs 5", 15), 15);
  ::close(beatFd);
  beatFd = -1;
  EXPECT_TRUE(waitUntil([&] { return stage.count("STP0/1") > 0; }));
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(stage.commands().at(0).text, "STP0/1");
  // The line end closes the fragment; no retraction, as the needle was never in tissue.
  EXPECT_EQ(needleHeard(), "/1 1 move abs 5\r\n/01 estop\n");
  EXPECT_NE(logText().find("\"reason\":\"end_of_stream\""), std::string::npos);
  EXPECT_NE(logText().find("\"event\":\"stop_answered\""), std::string::npos);
}

TEST_F(Process, stopsEverythingWhileTheDiskOfItsLogHangs) {
  // A log that takes nothing: a pipe that is full and that nobody reads.
  ::unlink(log.c_str());
  ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
  const int pipe = ::open(log.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(pipe, 0);
  const std::string filling(4096, 'x');
  while (::write(pipe, filling.data(), filling.size()) > 0) {
  }
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  ::close(beatFd);
  beatFd = -1;
  EXPECT_TRUE(waitUntil([&] { return needleHeard() == "\r\n/01 estop\n"; }));
  EXPECT_TRUE(waitUntil([&] { return stage.count("STP0/1") > 0; }));
  // Once the disk takes it, the account is whole.
  std::string said;
  char bytes[4096];
  EXPECT_TRUE(waitUntil([&] {
    ssize_t got = 0;
    while ((got = ::read(pipe, bytes, sizeof bytes)) > 0) said.append(bytes, static_cast<size_t>(got));
    return said.find("\"event\":\"ended\"") != std::string::npos;
  }));
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_LT(said.find("\"event\":\"stop_sent\""), said.find("\"event\":\"triggered\""));
  ::close(pipe);
}

TEST_F(Process, retractsANeedleThatIsInTissueAfterTheStop) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }, realtime::kBeatNeedleInTissue, 12345));
  beat(realtime::kBeatNeedleInTissue, 12345);
  ::close(beatFd);
  beatFd = -1;
  ASSERT_TRUE(waitUntil([&] { return needleHeard().find("move abs") != std::string::npos; }));
  EXPECT_EQ(needleHeard(), "\r\n/01 estop\n\r\n/01 1 move abs 12345\n");
  const std::string ok = "@01 1 OK BUSY -- 0\r\n";
  ASSERT_EQ(::write(needleMaster, ok.data(), ok.size()), ssize_t(ok.size()));
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(needleHeard(), "\r\n/01 estop\n\r\n/01 1 move abs 12345\n");  // answered: not repeated
  EXPECT_NE(logText().find("\"retractToMicrosteps\":12345"), std::string::npos);
  EXPECT_NE(logText().find("\"event\":\"retract_answered\""), std::string::npos);
}

TEST_F(Process, repeatsARetractionThatNobodyAnswers) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }, realtime::kBeatNeedleInTissue, -7));
  ::close(beatFd);
  beatFd = -1;
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(needleHeard(),
            "\r\n/01 estop\n\r\n/01 1 move abs -7\n\r\n/01 1 move abs -7\n\r\n/01 1 move abs -7\n");
}

/// Frames as any Modbus master writes them; their CRCs were computed with another program (pymodbus).
std::string frame(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}
const std::string kModbusEstop = frame({0x01, 0x06, 0x00, 0x00, 0x00, 0x02, 0x08, 0x0b});
const std::string kModbusTarget12345 =
    frame({0x01, 0x10, 0x00, 0x01, 0x00, 0x02, 0x04, 0x00, 0x00, 0x30, 0x39, 0xe6, 0x71});
const std::string kModbusMove = frame({0x01, 0x06, 0x00, 0x00, 0x00, 0x04, 0x88, 0x09});

TEST_F(Process, stopsAModbusNeedleTwiceWithAGap) {
  start(stage.port(), 300, "--needle-modbus-fd");
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  EXPECT_EQ(needleHeard(), "");
  ::close(beatFd);
  beatFd = -1;
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(needleHeard(), kModbusEstop + kModbusEstop);
}

TEST_F(Process, retractsAModbusNeedleThatIsInTissue) {
  start(stage.port(), 300, "--needle-modbus-fd");
  ASSERT_TRUE(beatUntil([&] { return armed(); }, realtime::kBeatNeedleInTissue, 12345));
  beat(realtime::kBeatNeedleInTissue, 12345);
  ::close(beatFd);
  beatFd = -1;
  const std::string all = kModbusEstop + kModbusEstop + kModbusTarget12345 + kModbusMove;
  ASSERT_TRUE(waitUntil([&] { return needleHeard().size() >= all.size(); }));
  EXPECT_EQ(needleHeard(), all);
  ASSERT_EQ(::write(needleMaster, kModbusMove.data(), kModbusMove.size()), ssize_t(kModbusMove.size()));
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(needleHeard(), all);  // answered: not repeated
  EXPECT_NE(logText().find("\"event\":\"retract_answered\""), std::string::npos);
}

// STX, STPn/1, CR LF for each axis: the SC series has no stop for all (stages-needle-cameras.md A8).
const std::string kScStop3 = "\r\n\x02STP3/1\r\n";
const std::string kScStop1 = "\r\n\x02STP1/1\r\n";

TEST_F(Process, stopsTheAxesOfAnScOneAfterTheOtherUntilEachHasAnswered) {
  startWith({"--sc-fd", "112", "--sc-axes", "3,1"}, 300);
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  EXPECT_EQ(needleHeard(), "");
  // The daemon dies within a command.
  ASSERT_EQ(::write(needleSlave, "\x02RDP1/", 6), 6);
  ::close(beatFd);
  beatFd = -1;
  ASSERT_TRUE(waitUntil([&] { return needleHeard().find(kScStop1) != std::string::npos; }));
  EXPECT_EQ(needleHeard(), "\x02RDP1/" + kScStop3 + kScStop1);
  // The first had swallowed the rest of the command; the second is answered when its axis stands.
  const std::string replies = "E\tRDP1\t100\r\nE\tSTP3\t5\r\nC\tSTP1\r\n";
  ASSERT_EQ(::write(needleMaster, replies.data(), replies.size()), ssize_t(replies.size()));
  ASSERT_TRUE(waitUntil([&] { return needleHeard().rfind(kScStop3) > kScStop3.size() + 6; }));
  ASSERT_EQ(::write(needleMaster, "C\tSTP3\r\n", 8), 8);
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_NE(logText().find("\"axis\":1}"), std::string::npos);
  EXPECT_NE(logText().find("\"axis\":3}"), std::string::npos);
  EXPECT_EQ(logText().find("stop_unanswered"), std::string::npos);
}

TEST_F(Process, stopsTheAxesOfAnScTwiceWhileTheDaemonHasTheReplies) {
  startWith({"--sc-fd", "112", "--sc-axes", "1,3"}, 100);
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  const std::string all = kScStop1 + kScStop3 + kScStop1 + kScStop3;
  ASSERT_TRUE(waitUntil([&] { return needleHeard().size() >= all.size(); }));
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(needleHeard(), all);
}

TEST_F(Process, givesUpOnAnScThatAnswersNothing) {
  startWith({"--sc-fd", "112", "--sc-axes", "1"}, 300);
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  ::close(beatFd);
  beatFd = -1;
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(needleHeard(), kScStop1 + kScStop1 + kScStop1 + kScStop1 + kScStop1);
  EXPECT_NE(logText().find("stop_unanswered"), std::string::npos);
}

TEST_F(Process, stopsThroughTheOnlyConnectionOfAnAries) {
  startWith({"--aries-connection-fd", "112"}, 300);
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  ::close(beatFd);
  beatFd = -1;
  ASSERT_TRUE(waitUntil([&] { return !needleHeard().empty(); }));
  EXPECT_EQ(needleHeard(), "\r\nSTP0/1\r\n");  // no STX on a network
  ASSERT_EQ(::write(needleMaster, "C\tSTP0\r\n", 8), 8);
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_NE(logText().find("\"event\":\"stop_answered\""), std::string::npos);
}

TEST_F(Process, actsOnceOnSilenceAndWatchesAgainWhenRearmed) {
  start(stage.port(), 100);
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  const double silentS = nowS();
  ASSERT_TRUE(waitUntil([&] { return stage.count("STP0/1") == 1; }));
  EXPECT_GT(stage.commands().at(0).atS - silentS, 0.08);
  ASSERT_TRUE(waitUntil([&] { return statusSays("\"triggered\":true"); }));
  // Beats alone do not rearm it, and further silence does not make it act again.
  for (int i = 0; i < 20; ++i) {
    beat();
    std::this_thread::sleep_for(5ms);
  }
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(stage.count("STP"), 1U);
  EXPECT_FALSE(armed());
  ASSERT_TRUE(beatUntil([&] { return armed(); }, realtime::kBeatRearm));
  EXPECT_TRUE(waitUntil([&] { return stage.count("STP0/1") == 2; }));
  EXPECT_NE(logText().find("\"reason\":\"silence\""), std::string::npos);
  EXPECT_NE(logText().find("\"event\":\"rearmed\""), std::string::npos);
}

TEST_F(Process, endsWithoutAWordAfterAGoodbye) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }, realtime::kBeatNeedleInTissue, 1));
  beat(realtime::kBeatGoodbye | realtime::kBeatNeedleInTissue, 1);
  ::close(beatFd);
  beatFd = -1;
  EXPECT_EQ(exitStatus(), 0);
  EXPECT_TRUE(stage.commands().empty());
  EXPECT_EQ(needleHeard(), "");
}

TEST_F(Process, ignoresTheSignalsOfAServiceManager) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) ::kill(child, signal);
  int beaten = 0;
  ASSERT_TRUE(beatUntil([&] { return ++beaten > 20; }));
  EXPECT_EQ(::kill(child, 0), 0);
  EXPECT_TRUE(stage.commands().empty());
}

TEST_F(Process, connectsAgainAndIsNotArmedMeanwhile) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  statusText.clear();
  stage.dropClients();
  EXPECT_TRUE(beatUntil([&] {
    armed();  // reads what came
    return statusText.find("\"armed\":false") != std::string::npos;
  }));
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  ::close(beatFd);
  beatFd = -1;
  EXPECT_TRUE(waitUntil([&] { return stage.count("STP0/1") > 0; }));
}

TEST_F(Process, repeatsAStopThatTheControllerDoesNotAnswer) {
  start(stage.port());
  ASSERT_TRUE(beatUntil([&] { return armed(); }));
  stage.mute = true;
  ::close(beatFd);
  beatFd = -1;
  EXPECT_EQ(exitStatus(), 3);
  EXPECT_EQ(stage.count("STP0/1"), 5U);
  EXPECT_NE(logText().find("\"event\":\"stop_unanswered\""), std::string::npos);
}

TEST_F(Process, refusesAnScWithoutItsAxes) {
  for (const std::vector<std::string>& links : {std::vector<std::string>{"--sc-fd", "112"},
                                                {"--sc-fd", "112", "--sc-axes", "1,1"},
                                                {"--sc-fd", "112", "--sc-axes", "1,,2"},
                                                {"--sc-axes", "1", "--sc-fd", "112"}}) {
    startWith(links, 300);
    EXPECT_EQ(exitStatus(), 2);
    ::close(beatFd);
    ::close(statusFd);
    beatFd = statusFd = -1;
  }
}

TEST_F(Process, refusesWrongArguments) {
  child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(2);
    ::execl(GUARDIAN_PROGRAM, "guardian", "--beat-fd", "99", nullptr);
    ::_exit(127);
  }
  EXPECT_EQ(exitStatus(), 2);
}

}  // namespace
}  // namespace surgiclaw::guardian
