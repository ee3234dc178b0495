// Lines by hand after the ARIES/LYNX manual (pages 47 to 112) and the SC series' eight parameters.
#include "surgiclaw/envelope/stage_envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace surgiclaw::envelope {
namespace {

const std::vector<StageAxis> kAxes = {{1, -14700, 14700, 10000}, {4, -16000, 16000, 5000}};

std::string code(const Refusal& refusal) { return refusal ? refusal.code : ""; }

TEST(StageEnvelope, letsTheDriversLinesPass) {
  const StageEnvelope aries(StageFamily::kAries, kAxes);
  for (const char* line : {"APS1/0/-14700/1\r\n",
                           "\x02"
                           "APS4/9/16000/1\r\n",
                           "STR1\r\n", "RDP4\r\n", "IDN\r\n", "RTB1/3\r\n", "ORG1/2/1\r\n", "WSY1/2/10\r\n",
                           "RSY1/12\r\n", "REM\r\n", "STP0/1\r\n"}) {
    EXPECT_EQ(code(aries.line(line)), "") << line << aries.line(line).detail;
  }
  const StageEnvelope sc(StageFamily::kSc, kAxes);
  for (const char* line : {"\x02"
                           "APS1/2/0/0/14700/0/0/1\r\n",
                           "\x02"
                           "ASI1/500/10000/16/16/0/0/0/0/0/0/0/0/0\r\n",
                           "\x02"
                           "ORG1/2/0/0/3/1\r\n",
                           "\x02"
                           "STP1/1\r\n",
                           "\x02"
                           "RMS1\r\n"}) {
    EXPECT_EQ(code(sc.line(line)), "") << line << sc.line(line).detail;
  }
}

TEST(StageEnvelope, refusesWhatIsNoNumberOnTheWire) {
  const StageEnvelope aries(StageFamily::kAries, kAxes);
  for (const char* value : {"NaN", "Infinity", "-Infinity", "0.5", "1e+21", "", "2147483648", "-2147483649",
                            "4294967296", "+5", " 5", "0x10"}) {
    EXPECT_EQ(code(aries.line("APS1/0/" + std::string(value) + "/1\r\n")), "UNIT_NOT_FINITE") << value;
  }
  EXPECT_EQ(code(aries.line("APS1/0/100/\r\n")), "UNIT_NOT_FINITE");
}

TEST(StageEnvelope, refusesWhatIsBeyondTheAxis) {
  const StageEnvelope aries(StageFamily::kAries, kAxes);
  for (const char* line :
       {"APS1/0/14701/1\r\n", "APS1/0/-14701/1\r\n", "APS4/0/16001/1\r\n", "APS1/0/2147483647/1\r\n"}) {
    EXPECT_EQ(code(aries.line(line)), "DEVICE_LIMIT") << line;
  }
  const StageEnvelope sc(StageFamily::kSc, kAxes);
  EXPECT_EQ(code(sc.line("\x02"
                         "APS1/2/0/0/14701/0/0/1\r\n")),
            "DEVICE_LIMIT");
  EXPECT_EQ(code(sc.line("\x02"
                         "ASI1/500/10001/16/16/0/0/0/0/0/0/0/0/0\r\n")),
            "DEVICE_LIMIT");
}

TEST(StageEnvelope, refusesCommandsThatNobodyHereSends) {
  const StageEnvelope aries(StageFamily::kAries, kAxes);
  for (const char* line :
       {"RPS1/0/5/1\r\n", "FRP1/0/0\r\n", "MPS1/0/5/2/0/5/0/1\r\n", "WTB1/0/100/500/10/10/2\r\n",
        "WSY1/12/5\r\n", "APS2/0/5/1\r\n", "APS1/0/5\r\n", "APS1/2/0/0/5/0/0/1\r\n", "APS1/10/5/1\r\n",
        "ORG2/0/1\r\n", "IDN", "IDN\r\nAPS1/0/5/1\r\n",
        "STR1\x02"
        "APS1/0/5/1\r\n",
        "aps1/0/5/1\r\n", ""}) {
    EXPECT_EQ(code(aries.line(line)), "SAFETY_ENVELOPE") << line;
  }
  // The drive of one family is none of the other.
  EXPECT_EQ(code(StageEnvelope(StageFamily::kSc, kAxes)
                     .line("\x02"
                           "APS1/0/5/1\r\n")),
            "SAFETY_ENVELOPE");
}

TEST(StageEnvelope, aStopPassesWhateverItsParameters) {
  const StageEnvelope aries(StageFamily::kAries, kAxes);
  for (const char* line : {"STP0/0\r\n",
                           "\x02"
                           "STP9/1\r\n",
                           "STPNaN/1\r\n"})
    EXPECT_EQ(code(aries.line(line)), "");
}

TEST(StageEnvelope, judgesTargetsBeforeAnythingIsSent) {
  const StageEnvelope aries(StageFamily::kAries, kAxes);
  EXPECT_EQ(code(aries.target(1, 14700, "target")), "");
  EXPECT_EQ(code(aries.target(1, 14701, "target")), "DEVICE_LIMIT");
  EXPECT_EQ(code(aries.target(2, 0, "target")), "SAFETY_ENVELOPE");
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), 0.5}) {
    EXPECT_EQ(code(aries.target(1, value, "target")), "UNIT_NOT_FINITE") << value;
  }
  EXPECT_EQ(code(aries.target(1, 4294967296.0 + 5, "target")), "DEVICE_LIMIT");
}

}  // namespace
}  // namespace surgiclaw::envelope
