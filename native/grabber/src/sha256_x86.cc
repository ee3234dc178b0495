#include "sha256_blocks.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

namespace surgiclaw::grabber {

bool shaInstructionsPresent() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_SSSE3) == 0 || (c & bit_SSE4_1) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (b & (1U << 29)) != 0;
}

// The instructions keep the state as two vectors, (a b e f) and (c d g h), and do two rounds at a time.
__attribute__((target("sha,ssse3,sse4.1"))) void shaInstructionBlocks(uint32_t state[8], const uint8_t* bytes,
                                                                      size_t blocks) noexcept {
  const __m128i byteOrder = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abcd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  const __m128i efgh = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  const __m128i cdab = _mm_shuffle_epi32(abcd, 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(efgh, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, cdab, 0xF0);

  for (; blocks > 0; --blocks, bytes += 64) {
    const __m128i abefBefore = abef;
    const __m128i cdghBefore = cdgh;
    // The schedule: w[i] holds words 4i…4i+3 of the last four groups.
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i), byteOrder);
    }
    for (int group = 0; group < 16; ++group) {
      const __m128i words = w[group & 3];
      const __m128i rounds =
          _mm_add_epi32(words, _mm_load_si128(reinterpret_cast<const __m128i*>(kSha256Constants) + group));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, rounds);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(rounds, 0x0E));
      if (group < 12) {
        const __m128i next = w[(group + 1) & 3];
        const __m128i afterNext = w[(group + 2) & 3];
        const __m128i last = w[(group + 3) & 3];
        const __m128i nineBack = _mm_alignr_epi8(last, afterNext, 4);
        w[group & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(words, next), nineBack), last);
      }
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace surgiclaw::grabber

#else

namespace surgiclaw::grabber {

bool shaInstructionsPresent() noexcept { return false; }
void shaInstructionBlocks(uint32_t*, const uint8_t*, size_t) noexcept {}

}  // namespace surgiclaw::grabber

#endif
