#include "surgiclaw/guardian/beat_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "surgiclaw/guardian/options.h"

namespace surgiclaw::guardian {
namespace {

std::string bytesOf(uint32_t sequence) {
  realtime::Beat beat;
  beat.sequence = sequence;
  return {reinterpret_cast<const char*>(&beat), sizeof beat};
}

std::vector<uint32_t> sequences(const std::string& stream, size_t piece, uint64_t* skipped = nullptr) {
  BeatReader reader;
  std::vector<uint32_t> seen;
  for (size_t at = 0; at < stream.size(); at += piece) {
    reader.feed(reinterpret_cast<const unsigned char*>(stream.data()) + at,
                std::min(piece, stream.size() - at),
                [&](const realtime::Beat& beat) { seen.push_back(beat.sequence); });
  }
  if (skipped != nullptr) *skipped = reader.skipped();
  return seen;
}

TEST(BeatReader, takesBeatsInAnyPieces) {
  const std::string stream = bytesOf(1) + bytesOf(2) + bytesOf(3);
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    EXPECT_EQ(sequences(stream, piece), (std::vector<uint32_t>{1, 2, 3})) << piece;
  }
}

TEST(BeatReader, losesOnlyWhatIsDamaged) {
  // The magic number's bytes are 'W' 'C' 'L' 'S' in memory: false starts of it stand before the true one.
  const std::string stream = bytesOf(1) + "WCWCLnoise" + bytesOf(2);
  uint64_t skipped = 0;
  EXPECT_EQ(sequences(stream, 1, &skipped), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(skipped, 10U);
  // A beat that breaks off takes the place of the next one's beginning, and the one after is whole again.
  EXPECT_EQ(sequences(bytesOf(1).substr(0, 9) + bytesOf(2) + bytesOf(3), 7).back(), 3U);
}

std::string problem(std::vector<std::string> arguments, Options* out = nullptr) {
  Options options;
  const std::string text = parseOptions(arguments, options);
  if (out != nullptr) *out = options;
  return text;
}

TEST(GuardianOptions, readsEveryLink) {
  Options options;
  ASSERT_EQ(problem({"--beat-fd", "3", "--silence-ms", "60", "--log", "/tmp/x", "--aries-tcp",
                     "127.0.0.1:12321", "--aries-tcp", "[::1]:23", "--aries-fd", "5", "--needle-fd", "4",
                     "--needle-device", "2", "--needle-axis", "3"},
                    &options),
            "");
  EXPECT_EQ(options.beatFd, 3);
  EXPECT_EQ(options.silenceMs, 60);
  ASSERT_EQ(options.ariesTcp.size(), 2U);
  EXPECT_EQ(options.ariesTcp[1].host, "::1");
  EXPECT_EQ(options.ariesTcp[1].port, 23);
  EXPECT_EQ(options.ariesSerial.at(0).fd, 5);
  EXPECT_EQ(options.needles.at(0).device, 2);
  EXPECT_EQ(options.needles.at(0).axis, 3);
}

TEST(GuardianOptions, namesWhatIsWrong) {
  EXPECT_NE(problem({}).find("--beat-fd"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd", "-1"}).find("--beat-fd"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd"}).find("missing"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd", "3", "--aries-tcp", "127.0.0.1"}).find("--aries-tcp"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd", "3", "--aries-tcp", "host:0"}).find("--aries-tcp"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd", "3", "--silence-ms", "1"}).find("--silence-ms"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd", "3", "--needle-axis", "1"}).find("--needle-fd"), std::string::npos);
  EXPECT_NE(problem({"--beat-fd", "3", "--verbose", "1"}).find("--verbose"), std::string::npos);
}

}  // namespace
}  // namespace surgiclaw::guardian
