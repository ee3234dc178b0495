#include "surgiclaw/grabber/pixel_format.h"

#include <gtest/gtest.h>

#include <vector>

using namespace surgiclaw::grabber;

namespace {

std::vector<int> greys(PixelFormat format, const std::vector<uint8_t>& wire, size_t pixels) {
  std::vector<uint8_t> out(pixels, 0xee);
  EXPECT_EQ(pixelFormatBytes(format, pixels), wire.size());
  toMono8(format, wire.data(), pixels, out.data());
  return {out.begin(), out.end()};
}

}  // namespace

// Bytes by hand, from the layouts of the GenICam Pixel Format Naming Convention and of GigE Vision 1.2.

TEST(PixelFormat, unpackedFormatsLieInTheLowBitsOfLittleEndianWords) {
  // 0x2a5 of 10 bits is 0xa9 and a rest; 0xabc of 12 is 0xab.
  EXPECT_EQ(greys(PixelFormat::mono10, {0xa5, 0x02, 0xff, 0x03}, 2), (std::vector<int>{0xa9, 0xff}));
  EXPECT_EQ(greys(PixelFormat::mono12, {0xbc, 0x0a, 0x0f, 0x00}, 2), (std::vector<int>{0xab, 0x00}));
  EXPECT_EQ(greys(PixelFormat::mono14, {0xff, 0x3f, 0x40, 0x00}, 2), (std::vector<int>{0xff, 0x01}));
  EXPECT_EQ(greys(PixelFormat::mono16, {0x34, 0x12, 0xff, 0x80}, 2), (std::vector<int>{0x12, 0x80}));
}

TEST(PixelFormat, gigeVisionPackedKeepsTheHighBitsInTheOuterBytes) {
  // Pixels 0xabc and 0x123 of 12 bits: ab, 3c, 12. Pixels 0x2a5 and 0x3fe of 10 bits: a9, 21, ff.
  EXPECT_EQ(greys(PixelFormat::mono12Packed, {0xab, 0x3c, 0x12}, 2), (std::vector<int>{0xab, 0x12}));
  EXPECT_EQ(greys(PixelFormat::mono10Packed, {0xa9, 0x21, 0xff}, 2), (std::vector<int>{0xa9, 0xff}));
}

TEST(PixelFormat, lsbPackedIsAStreamOfBits) {
  // 0xabc, 0x123: bc, 3a, 12.
  EXPECT_EQ(greys(PixelFormat::mono12p, {0xbc, 0x3a, 0x12}, 2), (std::vector<int>{0xab, 0x12}));
  // 0x2a5, 0x3fe, 0x001, 0x200: bits 10 1010 0101 | 11 1111 1110 | 00 0000 0001 | 10 0000 0000 from the least
  // on.
  EXPECT_EQ(greys(PixelFormat::mono10p, {0xa5, 0xfa, 0x1f, 0x00, 0x80}, 4),
            (std::vector<int>{0xa9, 0xff, 0x00, 0x80}));
}

TEST(PixelFormat, lumaOfYuv) {
  EXPECT_EQ(greys(PixelFormat::yuv422, {10, 128, 20, 127}, 2), (std::vector<int>{10, 20}));
}

TEST(PixelFormat, namesAndCodesAreThoseOfTheConvention) {
  EXPECT_EQ(pixelFormatCode(PixelFormat::mono8), 0x01080001U);
  EXPECT_EQ(pixelFormatCode(PixelFormat::mono12Packed), 0x010C0006U);
  EXPECT_EQ(pixelFormatCode(PixelFormat::mono10p), 0x010A0046U);
  EXPECT_EQ(pixelFormatNamed("Mono12p"), PixelFormat::mono12p);
  EXPECT_EQ(pixelFormatNamed("BayerRG8"), std::nullopt);
  EXPECT_EQ(pixelFormatBytes(PixelFormat::mono10p, 5), 7U) << "50 bits";
}
