// Image files as Mono8, for micrographs that come from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surgiclaw::grabber {

/// Mono8, row-major without gaps.
struct GreyImage {
  int width = 0;
  int height = 0;
  int bits = 8;  ///< Depth of the file's grey levels that was scaled to 0…255.
  std::vector<uint8_t> pixels;
};

/// Reads PNG, TIFF, JPEG, PGM or BMP, colour as grey, 8 or 16 bits. Cameras store 10, 12 or 14 bits in words
/// of 16: `bits` says how many count, 0 takes the fewest of 8, 10, 12, 14, 16 that hold the brightest pixel.
/// @throws GrabberError missing (no such file), feature (no image, another depth, or brighter than `bits`)
GreyImage readGreyImage(const std::string& file, int bits = 0);

}  // namespace surgiclaw::grabber
