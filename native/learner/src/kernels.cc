#include "surgiclaw/learner/kernels.h"

#include "surgiclaw/learner/error.h"

namespace surgiclaw::learner {

extern const Kernels kGenericKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

const Kernels& kernels(const std::string& name) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") != 0;
  if (avx512 && (name == "auto" || name == "avx512")) return kAvx512Kernels;
  if (avx2 && (name == "auto" || name == "avx2")) return kAvx2Kernels;
#endif
  if (name == "auto" || name == "generic") return kGenericKernels;
  throw LearnerError(ErrorKind::kOptions, "instructionSet: this processor has no " + name);
}

}  // namespace surgiclaw::learner
