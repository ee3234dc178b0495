#include "surgiclaw/learner/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "surgiclaw/learner/error.h"
#include "surgiclaw/learner/floats.h"
#include "surgiclaw/learner/random.h"

namespace surgiclaw::learner {
namespace {

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> all;
  for (const char* name : {"generic", "avx2", "avx512"}) {
    try {
      all.push_back(&kernels(name));
    } catch (const LearnerError&) {
      // Not on this processor.
    }
  }
  return all;
}

Floats filled(std::size_t count, std::uint32_t stream) {
  Floats values(count);
  Random(3, stream).normals(values.data(), count);
  return values;
}

struct Case {
  int m;
  int n;
  int k;
  bool transposed;
  Finish finish;
};

/// A few shapes: tails of rows, one column of tiles, a single row, and every finish.
const std::vector<Case> kCases{{1, 16, 1, false, Finish::kNone},   {5, 32, 7, true, Finish::kRelu},
                               {13, 48, 33, false, Finish::kMask}, {25, 16, 31, true, Finish::kNone},
                               {26, 80, 9, false, Finish::kRelu},  {257, 64, 20, true, Finish::kMask}};

Floats product(const Kernels& with, const Case& c) {
  const int aStride = stride(c.transposed ? c.m : c.k);
  const int width = stride(c.n);
  const Floats a = filled(static_cast<std::size_t>(c.transposed ? c.k : c.m) * aStride, 1);
  const Floats b = filled(static_cast<std::size_t>(c.k) * width, 2);
  const Floats mask = filled(static_cast<std::size_t>(c.m) * width, 3);
  Floats result(static_cast<std::size_t>(c.m) * width);
  Product p;
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.a = a.data();
  p.aStride = aStride;
  p.aTransposed = c.transposed;
  p.b = b.data();
  p.bStride = width;
  p.c = result.data();
  p.cStride = width;
  p.finish = c.finish;
  p.mask = mask.data();
  with.multiply(p);
  for (int row = 0; row < c.m; ++row) {
    for (int column = 0; column < width; ++column) {
      double wanted = 0;
      for (int k = 0; k < c.k && column < c.n; ++k)
        wanted += static_cast<double>(c.transposed ? a[k * aStride + row] : a[row * aStride + k]) *
                  b[k * width + column];
      if (c.finish == Finish::kRelu) wanted = std::max(0.0, wanted);
      if (c.finish == Finish::kMask && !(mask[row * width + column] > 0)) wanted = 0;
      EXPECT_NEAR(result[row * width + column], wanted, 1e-4) << with.name << " " << row << " " << column;
    }
  }
  return result;
}

TEST(Kernels, ProductsAreThoseOfTheDefinition) {
  for (const Kernels* with : available())
    for (const Case& c : kCases) product(*with, c);
}

TEST(Kernels, WideVectorsGiveTheSameBits) {
  const auto all = available();
  if (all.size() < 3) GTEST_SKIP() << "one instruction set with fused multiply-add";
  for (const Case& c : kCases) {
    const Floats narrow = product(*all[1], c);
    const Floats wide = product(*all[2], c);
    EXPECT_EQ(std::memcmp(narrow.data(), wide.data(), narrow.size() * sizeof(float)), 0);
  }
}

// By hand, after algorithm 2 of the paper, with rate 0.1, decay 0.01, betas 0.9 and 0.999:
// step 1, g = 0.5:   m = 0.05, v = 0.00025, m/0.1 = 0.5, v/0.001 = 0.25: 1 - 0.001 - 0.1 * 0.5/0.5 = 0.899
// step 2, g = -0.25: m = 0.02, v = 0.00031225, m/0.19 = 0.1052632, v/0.001999 = 0.1562031, root 0.3952254:
//                    0.899 * 0.999 - 0.1 * 0.1052632/0.3952254 = 0.898101 - 0.0266337 = 0.8714673
TEST(Kernels, AdamWFollowsTheFormulaByHand) {
  for (const Kernels* with : available()) {
    // 19 alike: vectors and their tails.
    std::vector<float> parameters(19, 1.0F);
    std::vector<float> first(19);
    std::vector<float> second(19);
    std::vector<float> gradients(19, 0.5F);
    AdamWStep s;
    s.parameters = parameters.data();
    s.gradients = gradients.data();
    s.firstMoments = first.data();
    s.secondMoments = second.data();
    s.count = 19;
    s.rate = 0.1F;
    s.decay = 0.001F;
    s.beta1 = 0.9F;
    s.beta2 = 0.999F;
    s.epsilon = 1e-8F;
    s.correction1 = 0.1F;
    s.rootCorrection2 = std::sqrt(0.001F);
    with->adamW(s);
    for (const float value : parameters) EXPECT_NEAR(value, 0.899, 1e-6);
    gradients.assign(19, -0.25F);
    s.correction1 = 0.19F;
    s.rootCorrection2 = std::sqrt(0.001999F);
    with->adamW(s);
    for (const float value : parameters) EXPECT_NEAR(value, 0.8714673, 1e-6);
  }
}

TEST(Kernels, BlendMovesTheTargetByItsRate) {
  for (const Kernels* with : available()) {
    std::vector<float> target(19, 2.0F);
    const std::vector<float> source(19, -1.0F);
    with->blend(target.data(), source.data(), 19, 0.01F);
    for (const float value : target) EXPECT_NEAR(value, 0.99 * 2 + 0.01 * -1, 1e-6);
  }
}

TEST(Kernels, RefusesAnUnknownInstructionSet) { EXPECT_THROW(kernels("mmx"), LearnerError); }

}  // namespace
}  // namespace surgiclaw::learner
