#include "surgiclaw/learner/options.h"

#include <cmath>

#include "surgiclaw/learner/error.h"

namespace surgiclaw::learner {
namespace {

void range(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw LearnerError(ErrorKind::kOptions, std::string(name) + " is " + std::to_string(value) +
                                                ", must lie in " + std::to_string(low) + " to " +
                                                std::to_string(high));
}

}  // namespace

void check(const Options& options) {
  range("observationSize", options.observationSize, 1, 4096);
  range("actionSize", options.actionSize, 1, 64);
  range("hidden layers", static_cast<double>(options.hidden.size()), 1, 8);
  for (const int width : options.hidden) {
    range("hidden width", width, 16, 4096);
    if (width % 16 != 0) throw LearnerError(ErrorKind::kOptions, "hidden widths are multiples of 16");
  }
  range("batch", options.batch, 1, 65536);
  range("ringCapacity", options.ringCapacity, 1, 10'000'000);
  range("gamma", options.gamma, 0, 0.9999);
  range("targetRate", options.targetRate, 0, 1);
  range("learningRate", options.learningRate, 0, 1);
  range("weightDecay", options.weightDecay, 0, 1);
  range("temperature", options.temperature, 1e-8, 100);
  range("bankFraction", options.bankFraction, 0, 1);
  range("cloningWeight", options.cloningWeight, 0, 1000);
}

}  // namespace surgiclaw::learner
