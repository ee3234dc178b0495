// The arithmetic of small networks, once per instruction set. Every element of a product is summed over k in
// order, one fused multiply-add a step, so that AVX2 and AVX-512 give the same bits; without fused
// multiply-add the last bits differ.
#pragma once

#include <cstddef>
#include <string>

namespace surgiclaw::learner {

/// What is done to a finished element.
enum class Finish {
  kNone,
  /// max(0, x).
  kRelu,
  /// Zero where the mask is not above zero: the gradient through kRelu, whose output is the mask.
  kMask,
};

/// C[m][n] = sum over k of A[m][k] B[k][n]. `n` and the strides of B and C are multiples of 16.
struct Product {
  int m = 0;
  int n = 0;
  int k = 0;
  const float* a = nullptr;
  int aStride = 0;
  /// A lies as its transpose: element (m, k) at a[k * aStride + m].
  bool aTransposed = false;
  const float* b = nullptr;
  int bStride = 0;
  float* c = nullptr;
  int cStride = 0;
  Finish finish = Finish::kNone;
  /// As C; for kMask.
  const float* mask = nullptr;
};

/// One step of AdamW (Loshchilov and Hutter 2019, algorithm 2, with the schedule held at 1).
struct AdamWStep {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* firstMoments = nullptr;
  float* secondMoments = nullptr;
  std::size_t count = 0;
  float rate = 0;
  /// rate * weight decay.
  float decay = 0;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  /// 1 - beta1^t and sqrt(1 - beta2^t).
  float correction1 = 1;
  float rootCorrection2 = 1;
};

struct Kernels {
  const char* name;
  void (*multiply)(const Product& product);
  void (*adamW)(const AdamWStep& step);
  /// target += rate * (source - target).
  void (*blend)(float* target, const float* source, std::size_t count, float rate);
};

/// `auto` (the best that this processor has), `avx512`, `avx2` or `generic`.
/// @throws LearnerError (kOptions) when this processor lacks it
const Kernels& kernels(const std::string& name);

}  // namespace surgiclaw::learner
