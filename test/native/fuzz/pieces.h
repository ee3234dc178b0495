// What the fuzz targets share: input cut into pieces, and a property that must hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace surgiclaw::fuzz {

/// A property of the program: what breaks it is a finding.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Calls `take(bytes, count)` for pieces of 1…64 bytes whose sizes follow from `seed`.
template <typename Take>
void inPieces(const uint8_t* data, size_t size, uint8_t seed, const Take& take) {
  uint32_t state = seed * 2654435761U + 1;
  for (size_t at = 0; at < size;) {
    state = state * 1664525U + 1013904223U;
    const size_t piece = std::min<size_t>(size - at, 1 + (state >> 26));
    take(data + at, piece);
    at += piece;
  }
}

}  // namespace surgiclaw::fuzz
