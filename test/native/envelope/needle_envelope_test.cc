// Lines by hand after the ASCII protocol's manual; words by hand after the map of the registers
// (docs/needle.md).
#include "surgiclaw/envelope/needle_envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace surgiclaw::envelope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// 12000 microsteps of stroke, 1e6 microsteps/s, 6e7 microsteps/s²; Zaber data at 1.6384 and 0.00016384.
const NeedleEnvelope kNeedle({12000, 1e6, 6e7, 1.6384, 1.6384e-4});

std::string code(const Refusal& refusal) { return refusal ? refusal.code : ""; }

TEST(NeedleEnvelope, letsTheDriversLinesPass) {
  for (const char* line : {"/01 0 05\r\n", "/01 1 05 get pos\r\n", "/01 1 estop\r\n", "/01 1 06 stop:A3\r\n",
                           "/01 1 07 home\r\n", "/01 1 08 move abs 12000 1638400 9830\r\n",
                           "/01 1 09 set limit.max 12000:0F\r\n", "/01 0 10 stream 1 setup live 1\r\n",
                           "/01 0 11 stream 1 line abs 0\r\n", "/01 0 12 stream 1 wait 60000\r\n",
                           "/01 0 13 stream 1 set maxspeed 1\r\n", "/01 0 14 stream 1 set tanaccel 9830\r\n",
                           "/01 0 15 stream 1 fifo uncork\r\n", "/01 1 16 warnings clear\r\n",
                           "/01 0 17 set comm.alert 0\r\n"}) {
    EXPECT_EQ(code(kNeedle.line(line)), "") << line << kNeedle.line(line).detail;
  }
}

TEST(NeedleEnvelope, refusesWhatIsNoNumberOnTheWire) {
  for (const std::string value :
       {"NaN", "Infinity", "-Infinity", "0.5", "1e+21", "4294967296", "-2147483649"}) {
    for (const std::string before : {"move abs ", "set limit.max ", "stream 1 line abs ",
                                     "stream 1 set maxspeed ", "stream 1 set tanaccel ", "stream 1 wait "}) {
      const std::string after = before == "move abs " ? " 100 100" : "";
      const std::string line = "/01 1 05 " + before + value + after + "\r\n";
      EXPECT_EQ(code(kNeedle.line(line)), "UNIT_NOT_FINITE") << line;
    }
    EXPECT_EQ(code(kNeedle.line("/01 1 05 move abs 10 " + value + " 10\r\n")), "UNIT_NOT_FINITE") << value;
    EXPECT_EQ(code(kNeedle.line("/01 1 05 move abs 10 10 " + value + "\r\n")), "UNIT_NOT_FINITE") << value;
  }
}

TEST(NeedleEnvelope, refusesWhatIsBeyondTheDrive) {
  for (const char* line : {"/01 1 05 move abs 12001 10 10\r\n", "/01 1 05 move abs -1 10 10\r\n",
                           "/01 1 05 move abs 10 1638401 10\r\n", "/01 1 05 move abs 10 0 10\r\n",
                           "/01 1 05 move abs 10 10 9831\r\n", "/01 1 05 move abs 10 10 0\r\n",
                           "/01 0 05 stream 1 line abs 12001\r\n", "/01 0 05 stream 1 wait 60001\r\n",
                           "/01 0 05 stream 1 wait -1\r\n"}) {
    EXPECT_EQ(code(kNeedle.line(line)), "DEVICE_LIMIT") << line;
  }
}

TEST(NeedleEnvelope, refusesCommandsThatNobodyHereSends) {
  for (const char* line :
       {"/01 1 05 move rel 10 10 10\r\n", "/01 1 05 move vel 10\r\n", "/01 1 05 move abs 10\r\n",
        "/01 1 05 move max\r\n", "/01 1 05 set limit.min -5\r\n", "/01 1 05 set pos 0\r\n",
        "/01 0 05 stream 1 arc abs cw 1 2\r\n", "/01 0 05 stream 2 line abs 1\r\n", "/01 1 05 get pos",
        "/01 1 05 get pos/01 1 move rel 5\r\n", "/01 1 05 get pos\r\n/01 1 move rel 5\r\n",
        "/01 1:move rel 5\r\n", "move abs 1 1 1\r\n", ""}) {
    EXPECT_EQ(code(kNeedle.line(line)), "SAFETY_ENVELOPE") << line;
  }
}

TEST(NeedleEnvelope, makesTheWordsOfAMove) {
  std::vector<uint16_t> words;
  // 70000 = 0x11170; 123456.9 is rounded down to 0x1E240; 0.5 is not rounded to standing.
  const NeedleEnvelope far({100000, 1e6, 6e7, 1, 1});
  ASSERT_EQ(code(far.registers(1, {70000, 123456.9, 0.5}, words)), "");
  EXPECT_EQ(words, (std::vector<uint16_t>{1, 0x1170, 1, 0xE240, 0, 1}));
}

TEST(NeedleEnvelope, makesTheWordsOfAStroke) {
  std::vector<uint16_t> words;
  ASSERT_EQ(code(kNeedle.registers(3, {65536, 131072, 0, 9000, 9000, 50, 2000, 3, 4}, words)), "");
  EXPECT_EQ(words, (std::vector<uint16_t>{1, 0, 2, 0, 0, 0, 0, 9000, 0, 9000, 50, 0, 2000, 0, 3, 0, 4}));
}

TEST(NeedleEnvelope, makesNoWordsOfWhatItRefuses) {
  const std::vector<double> sound = {65536, 131072, 0, 9000, 9000, 50, 2000, 3, 4};
  for (size_t i = 0; i < sound.size(); ++i) {
    for (const double value : {std::nan(""), kInfinity, -kInfinity, -1.0, 4294967296.0 + 5, 1e9}) {
      std::vector<double> values = sound;
      values[i] = value;
      std::vector<uint16_t> words;
      EXPECT_NE(code(kNeedle.registers(3, values, words)), "") << i << " " << value;
      EXPECT_TRUE(words.empty());
    }
  }
  std::vector<uint16_t> words;
  EXPECT_EQ(code(kNeedle.registers(1, {9000.5}, words)), "UNIT_NOT_FINITE");
  EXPECT_EQ(code(kNeedle.registers(0, {4}, words)), "SAFETY_ENVELOPE");
  EXPECT_EQ(code(kNeedle.registers(18, {1, 1}, words)), "SAFETY_ENVELOPE");
  EXPECT_TRUE(words.empty());
}

}  // namespace
}  // namespace surgiclaw::envelope
