// Kernels for AVX-512; compiled with these instructions, chosen only where they exist.
#if defined(__x86_64__)
#define SURGICLAW_LANES 16
#define SURGICLAW_ROWS 12
#define SURGICLAW_NAME "avx512"
#define SURGICLAW_KERNELS kAvx512Kernels
#include "kernels_body.h"
#endif
