// Kernels for AVX2 with fused multiply-add; compiled with these instructions, chosen only where they exist.
#if defined(__x86_64__)
#define SURGICLAW_LANES 8
#define SURGICLAW_ROWS 6
#define SURGICLAW_NAME "avx2"
#define SURGICLAW_KERNELS kAvx2Kernels
#include "kernels_body.h"
#endif
