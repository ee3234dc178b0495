#include "surgiclaw/grabber/sha256.h"

#include <cstring>

#include "sha256_blocks.h"

namespace surgiclaw::grabber {

namespace {

constexpr size_t kBlock = 64;

uint32_t rotateRight(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

uint32_t bigEndian(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
         static_cast<uint32_t>(p[2]) << 8 | static_cast<uint32_t>(p[3]);
}

void portableBlocks(uint32_t state[8], const uint8_t* bytes, size_t blocks) noexcept {
  for (; blocks > 0; --blocks, bytes += kBlock) {
    uint32_t w[64];
    for (int t = 0; t < 16; ++t) w[t] = bigEndian(bytes + 4 * t);
    for (int t = 16; t < 64; ++t) {
      const uint32_t s0 = rotateRight(w[t - 15], 7) ^ rotateRight(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const uint32_t s1 = rotateRight(w[t - 2], 17) ^ rotateRight(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; ++t) {
      const uint32_t sum1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
      const uint32_t choice = (e & f) ^ (~e & g);
      const uint32_t t1 = h + sum1 + choice + kSha256Constants[t] + w[t];
      const uint32_t sum0 = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
      const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + sum0 + majority;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}

template <typename Blocks>
Sha256 digest(const uint8_t* bytes, size_t size, const Blocks& process) noexcept {
  // Fractional parts of the square roots of the first 8 primes (5.3.3).
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const size_t whole = size / kBlock;
  process(state, bytes, whole);
  // Padding (5.1.1): a one bit, zeros, and the length in bits as 64 bits, big-endian.
  uint8_t tail[2 * kBlock] = {};
  const size_t rest = size % kBlock;
  if (rest > 0) std::memcpy(tail, bytes + whole * kBlock, rest);
  tail[rest] = 0x80;
  const size_t tailSize = rest < 56 ? kBlock : 2 * kBlock;
  const uint64_t bits = static_cast<uint64_t>(size) * 8;
  for (size_t i = 0; i < 8; ++i) tail[tailSize - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  process(state, tail, tailSize / kBlock);
  Sha256 result;
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 4; ++j) result[4 * i + j] = static_cast<uint8_t>(state[i] >> (24 - 8 * j));
  }
  return result;
}

}  // namespace

Sha256 sha256Portable(const uint8_t* bytes, size_t size) noexcept {
  return digest(bytes, size, portableBlocks);
}

Sha256 sha256(const uint8_t* bytes, size_t size) noexcept {
  static const bool fast = shaInstructionsPresent();
  return fast ? digest(bytes, size, shaInstructionBlocks) : sha256Portable(bytes, size);
}

std::string toHex(const Sha256& hash) {
  static const char* const kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * hash.size());
  for (const uint8_t byte : hash) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace surgiclaw::grabber
