// Images of every pixel format in buffers without a byte to spare. The first byte says the format, the rest
// are pixels.
#include "surgiclaw/grabber/pixel_format.h"

#include <memory>

#include "pieces.h"

using namespace surgiclaw::grabber;
using surgiclaw::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const auto format = static_cast<PixelFormat>(data[0] % 10);
  size_t pixels = size - 1;
  while (pixels > 0 && pixelFormatBytes(format, pixels) > size - 1) --pixels;
  const size_t bytes = pixelFormatBytes(format, pixels);
  const std::unique_ptr<uint8_t[]> wire(new uint8_t[bytes]);
  const std::unique_ptr<uint8_t[]> grey(new uint8_t[pixels]);
  std::copy(data + 1, data + 1 + bytes, wire.get());
  toMono8(format, wire.get(), pixels, grey.get());
  if (format == PixelFormat::mono8) {
    require(std::equal(grey.get(), grey.get() + pixels, wire.get()), "eight bits stay as they are");
  }
  require(pixelFormatNamed(pixelFormatName(format)) == format, "a name stands for its format");
  return 0;
}
