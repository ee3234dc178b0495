// Compiles a hot loop twice, for any x86-64 and for AVX2, chosen when the program is loaded. Sanitizers and
// other processors get the plain version (the resolver would run before the sanitizer's own start-up).
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SURGICLAW_VECTOR_TARGETS __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SURGICLAW_VECTOR_TARGETS
#endif
