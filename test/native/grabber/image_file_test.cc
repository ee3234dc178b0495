#include "surgiclaw/grabber/image_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "surgiclaw/grabber/grabber_error.h"

namespace surgiclaw::grabber {
namespace {

namespace fs = std::filesystem;

class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("surgiclaw-image-file-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Written by hand, most significant byte first as PGM wants it: no encoder is asked.
  std::string pgm16(const std::vector<int>& levels, int width) {
    const fs::path file = folder_ / "grey16.pgm";
    std::ofstream out(file, std::ios::binary);
    out << "P5\n" << width << " " << levels.size() / static_cast<size_t>(width) << "\n65535\n";
    for (const int level : levels) out << static_cast<char>(level >> 8) << static_cast<char>(level & 0xff);
    return file.string();
  }

  fs::path folder_;
};

TEST_F(ImageFile, EightBitsComeAsTheyAre) {
  const fs::path file = folder_ / "grey8.pgm";
  std::ofstream(file, std::ios::binary) << "P5\n3 2\n255\n" << std::string("\x00\x01\x7f\x80\xfe\xff", 6);
  const GreyImage image = readGreyImage(file.string());
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.bits, 8);
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{0, 1, 127, 128, 254, 255}));
}

TEST_F(ImageFile, SixteenBitsAreScaledByTheDepthThatHoldsThem) {
  // 12 bits: 4095 is full scale, 2047.5 the middle.
  const GreyImage image = readGreyImage(pgm16({0, 1000, 2048, 4095}, 2));
  EXPECT_EQ(image.bits, 12);
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{0, 62, 128, 255}));
  const GreyImage full = readGreyImage(pgm16({0, 32768, 65535, 257}, 2));
  EXPECT_EQ(full.bits, 16);
  EXPECT_EQ(full.pixels, (std::vector<uint8_t>{0, 128, 255, 1}));
}

TEST_F(ImageFile, TheDepthCanBeSaid) {
  // An under-exposed frame of a 12-bit camera must not be brightened.
  const GreyImage image = readGreyImage(pgm16({0, 100, 200, 250}, 2), 12);
  EXPECT_EQ(image.bits, 12);
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{0, 6, 12, 16}));
  EXPECT_THROW(readGreyImage(pgm16({0, 100, 200, 5000}, 2), 12), GrabberError);
}

TEST_F(ImageFile, SaysWhatIsWrong) {
  try {
    readGreyImage((folder_ / "none.png").string());
    FAIL();
  } catch (const GrabberError& error) {
    EXPECT_EQ(error.fault(), GrabberFault::missing);
    EXPECT_NE(std::string(error.what()).find("none.png"), std::string::npos);
  }
  const fs::path file = folder_ / "text.png";
  std::ofstream(file) << "this is no picture";
  EXPECT_THROW(readGreyImage(file.string()), GrabberError);
}

}  // namespace
}  // namespace surgiclaw::grabber
