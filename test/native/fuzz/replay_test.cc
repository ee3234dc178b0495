// Runs every input of the committed corpus through its fuzz target. scripts/fuzz.sh looks for new ones.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" {
int fuzzAriesLines(const uint8_t* data, size_t size);
int fuzzBeatReader(const uint8_t* data, size_t size);
int fuzzGuardianLinks(const uint8_t* data, size_t size);
int fuzzPixelFormat(const uint8_t* data, size_t size);
}

namespace {

void replay(const char* target, int (*run)(const uint8_t*, size_t)) {
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FUZZ_CORPUS) / target)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // A broken property aborts: the trace above names the input.
    EXPECT_EQ(run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0);
    ++inputs;
  }
  EXPECT_GE(inputs, 5) << "the corpus is missing";
}

}  // namespace

TEST(FuzzCorpus, ariesLines) { replay("aries_lines", fuzzAriesLines); }
TEST(FuzzCorpus, beatReader) { replay("beat_reader", fuzzBeatReader); }
TEST(FuzzCorpus, guardianLinks) { replay("guardian_links", fuzzGuardianLinks); }
TEST(FuzzCorpus, pixelFormat) { replay("pixel_format", fuzzPixelFormat); }
