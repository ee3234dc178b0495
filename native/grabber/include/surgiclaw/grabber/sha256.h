#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace surgiclaw::grabber {

using Sha256 = std::array<uint8_t, 32>;

/// SHA-256 (FIPS 180-4) of `size` bytes. Uses the processor's SHA instructions where it has them.
Sha256 sha256(const uint8_t* bytes, size_t size) noexcept;

/// The same in portable code, whatever the processor: what the fast one is checked against.
Sha256 sha256Portable(const uint8_t* bytes, size_t size) noexcept;

/// Lower-case hexadecimal.
std::string toHex(const Sha256& digest);

}  // namespace surgiclaw::grabber
