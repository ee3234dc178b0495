#include "surgiclaw/grabber/pixel_format.h"

#include <cstring>

namespace surgiclaw::grabber {

namespace {

struct Row {
  PixelFormat format;
  const char* name;
  uint32_t code;  ///< PFNC: bits 16–23 are the bits that a pixel takes
  int depth;      ///< significant bits
};

constexpr Row kRows[] = {
    {PixelFormat::mono8, "Mono8", 0x01080001, 8},
    {PixelFormat::mono10, "Mono10", 0x01100003, 10},
    {PixelFormat::mono10Packed, "Mono10Packed", 0x010C0004, 10},
    {PixelFormat::mono10p, "Mono10p", 0x010A0046, 10},
    {PixelFormat::mono12, "Mono12", 0x01100005, 12},
    {PixelFormat::mono12Packed, "Mono12Packed", 0x010C0006, 12},
    {PixelFormat::mono12p, "Mono12p", 0x010C0047, 12},
    {PixelFormat::mono14, "Mono14", 0x01100025, 14},
    {PixelFormat::mono16, "Mono16", 0x01100007, 16},
    {PixelFormat::yuv422, "YUV422_8", 0x02100032, 8},
};

const Row& row(PixelFormat format) noexcept { return kRows[static_cast<size_t>(format)]; }

size_t bitsOf(PixelFormat format) noexcept { return (row(format).code >> 16) & 0xff; }

/// Two bytes a pixel, little-endian, the value in the low `depth` bits.
void fromWords(int depth, const uint8_t* wire, size_t pixels, uint8_t* mono8) noexcept {
  const int shift = depth - 8;
  for (size_t i = 0; i < pixels; ++i) {
    const unsigned value = static_cast<unsigned>(wire[2 * i]) | static_cast<unsigned>(wire[2 * i + 1]) << 8;
    mono8[i] = static_cast<uint8_t>(value >> shift);
  }
}

/// GigE Vision: three bytes for two pixels; the middle one holds the low bits of both.
void fromPacked(const uint8_t* wire, size_t pixels, uint8_t* mono8) noexcept {
  for (size_t i = 0; i < pixels; ++i) mono8[i] = wire[i / 2 * 3 + (i % 2) * 2];
}

/// PFNC "p": a stream of bits, the least significant first, without gaps.
void fromBitStream(size_t bits, const uint8_t* wire, size_t pixels, uint8_t* mono8) noexcept {
  for (size_t i = 0; i < pixels; ++i) {
    const size_t top = i * bits + bits - 8;
    const unsigned low = wire[top / 8];
    const unsigned high = top % 8 == 0 ? 0U : wire[top / 8 + 1];
    mono8[i] = static_cast<uint8_t>((low | high << 8) >> (top % 8));
  }
}

}  // namespace

const char* pixelFormatName(PixelFormat format) noexcept { return row(format).name; }

std::optional<PixelFormat> pixelFormatNamed(const std::string& name) noexcept {
  for (const Row& known : kRows) {
    if (name == known.name) return known.format;
  }
  return std::nullopt;
}

uint32_t pixelFormatCode(PixelFormat format) noexcept { return row(format).code; }

size_t pixelFormatBytes(PixelFormat format, size_t pixels) noexcept {
  return (pixels * bitsOf(format) + 7) / 8;
}

void toMono8(PixelFormat format, const uint8_t* wire, size_t pixels, uint8_t* mono8) noexcept {
  switch (format) {
    case PixelFormat::mono8:
      std::memcpy(mono8, wire, pixels);
      return;
    case PixelFormat::mono10Packed:
    case PixelFormat::mono12Packed:
      fromPacked(wire, pixels, mono8);
      return;
    case PixelFormat::mono10p:
    case PixelFormat::mono12p:
      fromBitStream(bitsOf(format), wire, pixels, mono8);
      return;
    case PixelFormat::yuv422:
      for (size_t i = 0; i < pixels; ++i) mono8[i] = wire[2 * i];
      return;
    case PixelFormat::mono10:
    case PixelFormat::mono12:
    case PixelFormat::mono14:
    case PixelFormat::mono16:
      fromWords(row(format).depth, wire, pixels, mono8);
      return;
  }
}

}  // namespace surgiclaw::grabber
