#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace surgiclaw::grabber {

/// How a grey image lies on the wire (GenICam Pixel Format Naming Convention; "Packed" is GigE Vision's own
/// layout). Of YUV 4:2:2, which is all that many a USB microscope offers, the luma is taken.
enum class PixelFormat {
  mono8,
  mono10,
  mono10Packed,
  mono10p,
  mono12,
  mono12Packed,
  mono12p,
  mono14,
  mono16,
  yuv422
};

/// The symbol of the GenICam feature PixelFormat, such as "Mono12Packed".
const char* pixelFormatName(PixelFormat format) noexcept;
std::optional<PixelFormat> pixelFormatNamed(const std::string& name) noexcept;
/// The 32 bit code that a stream states for its frames.
uint32_t pixelFormatCode(PixelFormat format) noexcept;
/// Bytes of an image of `pixels` pixels without padding.
size_t pixelFormatBytes(PixelFormat format, size_t pixels) noexcept;

/// Keeps the eight most significant bits of each pixel. `wire` holds pixelFormatBytes(format, pixels) bytes.
void toMono8(PixelFormat format, const uint8_t* wire, size_t pixels, uint8_t* mono8) noexcept;

}  // namespace surgiclaw::grabber
