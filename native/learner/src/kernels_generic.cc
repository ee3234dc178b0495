// Kernels for any processor that the compiler knows: SSE2 or NEON.
#define SURGICLAW_LANES 4
#define SURGICLAW_ROWS 6
#define SURGICLAW_NAME "generic"
#define SURGICLAW_KERNELS kGenericKernels
#include "kernels_body.h"
