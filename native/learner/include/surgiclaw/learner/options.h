// What a learner is made with. Defaults are the published constants where there are any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surgiclaw::learner {

struct Options {
  int observationSize = 0;
  int actionSize = 0;
  /// Widths of the hidden layers of actor and critics; multiples of 16.
  std::vector<int> hidden{256, 256};
  int batch = 256;
  int ringCapacity = 200'000;
  double gamma = 0.80;
  /// Bootstraps behind terminal steps too.
  bool bootstrapAtDone = false;
  /// Rate at which the target critics follow.
  double targetRate = 0.01;
  double learningRate = 3e-4;
  /// Decoupled weight decay of AdamW; the value that PyTorch begins with.
  double weightDecay = 0.01;
  /// Entropy temperature at the start. It decides: 0.01 works, 0.1 learns later.
  double temperature = 0.01;
  bool tuneTemperature = true;
  /// m: share of a minibatch that comes from the bank, when there is one.
  double bankFraction = 0.6;
  /// Draws each transition's origin instead of rounding m * batch once.
  bool binomialMix = false;
  /// lambda_BC of equation 5; 0 leaves cloning out.
  double cloningWeight = 0.6;
  /// chi of equation 4 by the critics; off: chi = 1.
  bool qFilter = true;
  std::uint64_t seed = 0;
  /// `auto`, `avx512`, `avx2`, `generic`.
  std::string instructionSet = "auto";
};

/// @throws LearnerError (kOptions) that names the option
void check(const Options& options);

}  // namespace surgiclaw::learner
