#include "surgiclaw/learner/sac_learner.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sac_workspace.h"
#include "surgiclaw/learner/error.h"
#include "surgiclaw/learner/squashed_gaussian.h"

namespace surgiclaw::learner {
namespace {

enum Stream : std::uint32_t { kInitial = 1, kDraws = 2, kNoise = 3, kActs = 4 };

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;
constexpr float kObservationLimit = 10;

const Options& checked(const Options& options) {
  check(options);
  return options;
}

}  // namespace

SacLearner::SacLearner(const Options& options)
    : options_(checked(options)),
      kernels_(kernels(options.instructionSet)),
      actorNetwork_(options.observationSize, options.hidden, 2 * options.actionSize),
      criticNetwork_(options.observationSize + options.actionSize, options.hidden, 1),
      mean_(static_cast<std::size_t>(options.observationSize), 0.0F),
      scale_(static_cast<std::size_t>(options.observationSize), 1.0F),
      ring_(options.observationSize, options.actionSize, options.ringCapacity),
      actor_(actorNetwork_.parameterCount()),
      critics_(2 * criticNetwork_.parameterCount()),
      targets_(2 * criticNetwork_.parameterCount()),
      logTemperature_(std::log(options.temperature)),
      drawRandom_(options.seed, kDraws),
      noiseRandom_(options.seed, kNoise),
      actRandom_(options.seed, kActs),
      work_(std::make_unique<Workspace>(actorNetwork_, criticNetwork_, options.batch, options.actionSize)) {
  Random initial(options.seed, kInitial);
  actorNetwork_.initialise(actor_.parameters.data(), initial);
  criticNetwork_.initialise(criticParameters(0), initial);
  criticNetwork_.initialise(criticParameters(1), initial);
  std::copy_n(critics_.parameters.data(), targets_.size(), targets_.data());
}

SacLearner::~SacLearner() = default;

void SacLearner::setNormaliser(const std::vector<float>& mean, const std::vector<float>& scale) {
  if (mean.size() != mean_.size() || scale.size() != scale_.size())
    throw LearnerError(ErrorKind::kOptions, "the normaliser has another size than the observation");
  if (ring_.size() > 0 || bank_ != nullptr)
    throw LearnerError(ErrorKind::kState, "the normaliser cannot change once transitions are stored");
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (!std::isfinite(mean[i]) || !std::isfinite(scale[i]) || !(scale[i] > 0))
      throw LearnerError(ErrorKind::kData, "normaliser of observation " + std::to_string(i) +
                                               ": mean and scale must be finite, the scale above 0");
  }
  mean_ = mean;
  scale_ = scale;
}

void SacLearner::normalise(const float* observation, float* into) const {
  for (std::size_t i = 0; i < mean_.size(); ++i)
    into[i] = std::clamp((observation[i] - mean_[i]) * scale_[i], -kObservationLimit, kObservationLimit);
}

void SacLearner::checkFinite(const float* values, std::size_t count, std::size_t width,
                             const char* what) const {
  for (std::size_t i = 0; i < count * width; ++i) {
    if (!std::isfinite(values[i]))
      throw LearnerError(ErrorKind::kData, std::string(what) + " of row " + std::to_string(i / width) +
                                               ", value " + std::to_string(i % width) + ", is not finite");
  }
}

void SacLearner::putNormalised(Transitions& rows, int row, const TransitionBlock& block, std::size_t index,
                               float weight) {
  const std::size_t width = mean_.size();
  const std::size_t actionSize = static_cast<std::size_t>(options_.actionSize);
  float* into = rows.row(row);
  normalise(block.observations + index * width, into);
  float* after = std::copy_n(block.actions + index * actionSize, actionSize, into + width);
  normalise(block.nextObservations + index * width, after);
  after[width] = block.rewards[index];
  after[width + 1] = block.terminals[index] != 0 ? 1.0F : 0.0F;
  after[width + 2] = weight;
}

void SacLearner::setBank(const TransitionBlock& block, const std::vector<float>& weights,
                         const std::vector<double>& probabilities) {
  if (block.count == 0) throw LearnerError(ErrorKind::kData, "the bank is empty");
  if (weights.size() != block.count || probabilities.size() != block.count)
    throw LearnerError(ErrorKind::kData, "the bank's columns differ in length");
  const std::size_t width = mean_.size();
  checkFinite(block.observations, block.count, width, "bank: observation");
  checkFinite(block.actions, block.count, static_cast<std::size_t>(options_.actionSize), "bank: action");
  checkFinite(block.nextObservations, block.count, width, "bank: next observation");
  checkFinite(block.rewards, block.count, 1, "bank: reward");
  checkFinite(weights.data(), block.count, 1, "bank: weight");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < 0)
      throw LearnerError(ErrorKind::kData, "bank: weight of row " + std::to_string(i) + " is negative");
  }
  auto bank = std::make_unique<Bank>(options_.observationSize, options_.actionSize,
                                     static_cast<int>(block.count), probabilities);
  for (std::size_t i = 0; i < block.count; ++i)
    putNormalised(bank->rows, static_cast<int>(i), block, i, weights[i]);
  bank_ = std::move(bank);
}

void SacLearner::store(const TransitionBlock& block) {
  const std::size_t width = mean_.size();
  checkFinite(block.observations, block.count, width, "observation");
  checkFinite(block.actions, block.count, static_cast<std::size_t>(options_.actionSize), "action");
  checkFinite(block.nextObservations, block.count, width, "next observation");
  checkFinite(block.rewards, block.count, 1, "reward");
  for (std::size_t i = 0; i < block.count; ++i) {
    putNormalised(ring_.rows(), ring_.next(), block, i, 0);
    ring_.advance();
  }
}

void SacLearner::act(const float* observations, std::size_t count, ActMode mode, float* actions) {
  const std::size_t width = mean_.size();
  const int actionSize = options_.actionSize;
  checkFinite(observations, count, width, "observation");
  if (mode == ActMode::kUniform) {
    for (std::size_t i = 0; i < count * static_cast<std::size_t>(actionSize); ++i)
      actions[i] = 2 * actRandom_.uniform() - 1;
    return;
  }
  Workspace& w = *work_;
  for (std::size_t first = 0; first < count; first += kActRows) {
    const int rows = static_cast<int>(std::min<std::size_t>(kActRows, count - first));
    for (int row = 0; row < rows; ++row)
      normalise(observations + (first + row) * width,
                w.actInput.data() + Workspace::rowsOf(row, actorNetwork_.inputStride()));
    forward(kernels_, actorNetwork_, actor_.parameters.data(), w.actInput.data(), rows, w.actPass);
    for (int row = 0; row < rows; ++row) {
      const float* head = w.actPass.output() + Workspace::rowsOf(row, actorNetwork_.outputStride());
      float* into = actions + (first + row) * actionSize;
      float noise[64] = {};
      if (mode == ActMode::kExplore) actRandom_.normals(noise, static_cast<std::size_t>(actionSize));
      for (int i = 0; i < actionSize; ++i)
        into[i] = mode == ActMode::kExplore ? squash(head[i], head[actionSize + i], noise[i]).action
                                            : std::tanh(head[i]);
    }
  }
}

int SacLearner::drawBankRows() {
  if (bank_ == nullptr) return 0;
  const double share = options_.bankFraction;
  if (!options_.binomialMix) return static_cast<int>(std::lround(share * options_.batch));
  int rows = 0;
  for (int i = 0; i < options_.batch; ++i) rows += static_cast<double>(drawRandom_.uniform()) < share ? 1 : 0;
  return rows;
}

void SacLearner::drawMinibatch(int bankRows) {
  Workspace& w = *work_;
  if (bankRows < options_.batch && ring_.size() == 0)
    throw LearnerError(ErrorKind::kState, "nothing was stored yet that an update could draw from");
  w.bankRows = bankRows;
  const int width = options_.observationSize;
  const int actionSize = options_.actionSize;
  for (int row = 0; row < options_.batch; ++row) {
    const bool banked = row < bankRows;
    const TransitionView t =
        banked ? bank_->rows.at(static_cast<int>(bank_->table.draw(drawRandom_)))
               : ring_.at(static_cast<int>(drawRandom_.below(static_cast<std::uint32_t>(ring_.size()))));
    const std::size_t at = Workspace::rowsOf(row, actorNetwork_.inputStride());
    std::copy_n(t.observation, width, w.observations.data() + at);
    std::copy_n(t.nextObservation, width, w.nextObservations.data() + at);
    std::copy_n(t.action, actionSize, w.actions.data() + Workspace::rowsOf(row, actionSize));
    w.rewards[row] = t.reward;
    w.terminals[row] = t.terminal;
    w.weights[row] = t.weight;
  }
}

void SacLearner::step(Trained& trained, double rate) const {
  ++trained.steps;
  const double t = static_cast<double>(trained.steps);
  AdamWStep s;
  s.parameters = trained.parameters.data();
  s.gradients = trained.gradients.data();
  s.firstMoments = trained.firstMoments.data();
  s.secondMoments = trained.secondMoments.data();
  s.count = trained.parameters.size();
  s.rate = static_cast<float>(rate);
  s.decay = static_cast<float>(rate * options_.weightDecay);
  s.beta1 = static_cast<float>(kBeta1);
  s.beta2 = static_cast<float>(kBeta2);
  s.epsilon = static_cast<float>(kEpsilon);
  s.correction1 = static_cast<float>(1 - std::pow(kBeta1, t));
  s.rootCorrection2 = static_cast<float>(std::sqrt(1 - std::pow(kBeta2, t)));
  kernels_.adamW(s);
}

namespace {

/// Puts observation and action into a row of the critics' input.
void join(float* into, const float* observation, int width, const float* action, int actionSize) {
  std::copy_n(action, actionSize, std::copy_n(observation, width, into));
}

}  // namespace

void SacLearner::updateCritics(UpdateReport& report) {
  Workspace& w = *work_;
  const int batch = options_.batch;
  const int width = options_.observationSize;
  const int actionSize = options_.actionSize;
  const int actorStride = actorNetwork_.inputStride();
  const int criticStride = criticNetwork_.inputStride();
  const int outStride = criticNetwork_.outputStride();
  noiseRandom_.normals(w.nextNoise.data(), Workspace::rowsOf(batch, actionSize));
  forward(kernels_, actorNetwork_, actor_.parameters.data(), w.nextObservations.data(), batch, w.actorPass);
  for (int row = 0; row < batch; ++row) {
    const float* head = w.actorPass.output() + Workspace::rowsOf(row, actorNetwork_.outputStride());
    const float* noise = w.nextNoise.data() + Workspace::rowsOf(row, actionSize);
    float* into = w.criticInput.data() + Workspace::rowsOf(row, criticStride);
    std::copy_n(w.nextObservations.data() + Workspace::rowsOf(row, actorStride), width, into);
    float density = 0;
    for (int i = 0; i < actionSize; ++i) {
      const SquashedSample sample = squash(head[i], head[actionSize + i], noise[i]);
      into[width + i] = sample.action;
      density += sample.logDensity;
    }
    w.logDensity[row] = density;
  }
  forward(kernels_, criticNetwork_, targetParameters(0), w.criticInput.data(), batch, w.criticPass0);
  forward(kernels_, criticNetwork_, targetParameters(1), w.criticInput.data(), batch, w.criticPass1);
  const float temperature = static_cast<float>(std::exp(logTemperature_));
  const float gamma = static_cast<float>(options_.gamma);
  for (int row = 0; row < batch; ++row) {
    const std::size_t at = Workspace::rowsOf(row, outStride);
    const float q = std::min(w.criticPass0.output()[at], w.criticPass1.output()[at]);
    const float goesOn = options_.bootstrapAtDone ? 1 : 1 - w.terminals[row];
    w.goals[row] = w.rewards[row] + gamma * goesOn * (q - temperature * w.logDensity[row]);
    join(w.criticInput.data() + Workspace::rowsOf(row, criticStride),
         w.observations.data() + Workspace::rowsOf(row, actorStride), width,
         w.actions.data() + Workspace::rowsOf(row, actionSize), actionSize);
  }
  double loss = 0;
  double sum = 0;
  for (int which = 0; which < 2; ++which) {
    Pass& pass = which == 0 ? w.criticPass0 : w.criticPass1;
    Transposed& transposed = which == 0 ? w.criticTransposed0 : w.criticTransposed1;
    forward(kernels_, criticNetwork_, criticParameters(which), w.criticInput.data(), batch, pass);
    for (int row = 0; row < batch; ++row) {
      const std::size_t at = Workspace::rowsOf(row, outStride);
      const float error = pass.output()[at] - w.goals[row];
      loss += static_cast<double>(error) * error / 2;
      sum += pass.output()[at];
      w.criticGradient[at] = error / static_cast<float>(batch);
    }
    transposed.update(criticNetwork_, criticParameters(which));
    backward(kernels_, criticNetwork_, transposed, w.criticInput.data(), batch, pass, w.criticGradient.data(),
             critics_.gradients.data() + which * criticNetwork_.parameterCount(), nullptr, w.criticDeltas);
  }
  step(critics_, options_.learningRate);
  report.criticLoss += loss / batch;
  report.meanQ += sum / (2.0 * batch);
}

double SacLearner::filteredCloning(double weightOfLoss, bool filter, double* kept) {
  Workspace& w = *work_;
  const int actionSize = options_.actionSize;
  const int headStride = actorNetwork_.outputStride();
  const int outStride = criticNetwork_.outputStride();
  double denominator = 0;
  int better = 0;
  for (int row = 0; row < w.bankRows; ++row) {
    bool keep = true;
    if (filter) {
      const std::size_t policy = Workspace::rowsOf(options_.batch + row, outStride);
      const std::size_t sample = Workspace::rowsOf(options_.batch + w.bankRows + row, outStride);
      const float ofPolicy = std::min(w.criticPass0.output()[policy], w.criticPass1.output()[policy]);
      const float ofSample = std::min(w.criticPass0.output()[sample], w.criticPass1.output()[sample]);
      keep = ofSample >= ofPolicy;
    }
    better += keep ? 1 : 0;
    w.cloned[row] = keep ? w.weights[row] : 0;
    denominator += w.cloned[row];
  }
  *kept = w.bankRows == 0 ? 0 : static_cast<double>(better) / w.bankRows;
  if (!(denominator > 0)) return 0;
  double loss = 0;
  for (int row = 0; row < w.bankRows; ++row) {
    const float* head = w.actorPass.output() + Workspace::rowsOf(row, headStride);
    const float* action = w.actions.data() + Workspace::rowsOf(row, actionSize);
    float* gradient = w.actorGradient.data() + Workspace::rowsOf(row, headStride);
    const double share = w.cloned[row] / denominator;
    for (int i = 0; i < actionSize; ++i) {
      const float evaluated = std::tanh(head[i]);
      const float miss = evaluated - action[i];
      loss += share * miss * miss / actionSize;
      gradient[i] +=
          static_cast<float>(weightOfLoss * share * 2 / actionSize) * miss * (1 - evaluated * evaluated);
    }
  }
  return loss;
}

void SacLearner::updateActor(UpdateReport& report) {
  Workspace& w = *work_;
  const int batch = options_.batch;
  const int width = options_.observationSize;
  const int actionSize = options_.actionSize;
  const int actorStride = actorNetwork_.inputStride();
  const int criticStride = criticNetwork_.inputStride();
  const int headStride = actorNetwork_.outputStride();
  const int outStride = criticNetwork_.outputStride();
  const bool clones = options_.cloningWeight > 0 && w.bankRows > 0;
  const bool filters = clones && options_.qFilter;
  noiseRandom_.normals(w.noise.data(), Workspace::rowsOf(batch, actionSize));
  forward(kernels_, actorNetwork_, actor_.parameters.data(), w.observations.data(), batch, w.actorPass);
  float evaluated[64];
  for (int row = 0; row < batch; ++row) {
    const float* head = w.actorPass.output() + Workspace::rowsOf(row, headStride);
    const float* noise = w.noise.data() + Workspace::rowsOf(row, actionSize);
    const float* observation = w.observations.data() + Workspace::rowsOf(row, actorStride);
    float* into = w.criticInput.data() + Workspace::rowsOf(row, criticStride);
    float density = 0;
    // The observation of this row lies there already, beside the recorded action.
    for (int i = 0; i < actionSize; ++i) {
      const SquashedSample sample = squash(head[i], head[actionSize + i], noise[i]);
      into[width + i] = sample.action;
      density += sample.logDensity;
      evaluated[i] = std::tanh(head[i]);
    }
    w.logDensity[row] = density;
    if (!filters || row >= w.bankRows) continue;
    join(w.criticInput.data() + Workspace::rowsOf(batch + row, criticStride), observation, width, evaluated,
         actionSize);
    join(w.criticInput.data() + Workspace::rowsOf(batch + w.bankRows + row, criticStride), observation, width,
         w.actions.data() + Workspace::rowsOf(row, actionSize), actionSize);
  }
  const int rows = batch + (filters ? 2 * w.bankRows : 0);
  forward(kernels_, criticNetwork_, criticParameters(0), w.criticInput.data(), rows, w.criticPass0);
  forward(kernels_, criticNetwork_, criticParameters(1), w.criticInput.data(), rows, w.criticPass1);
  for (int which = 0; which < 2; ++which) {
    Pass& pass = which == 0 ? w.criticPass0 : w.criticPass1;
    Transposed& transposed = which == 0 ? w.criticTransposed0 : w.criticTransposed1;
    for (int row = 0; row < batch; ++row) {
      const std::size_t at = Workspace::rowsOf(row, outStride);
      const bool first = w.criticPass0.output()[at] <= w.criticPass1.output()[at];
      w.criticGradient[at] = first == (which == 0) ? -1.0F / static_cast<float>(batch) : 0.0F;
    }
    transposed.update(criticNetwork_, criticParameters(which));
    backward(kernels_, criticNetwork_, transposed, w.criticInput.data(), batch, pass, w.criticGradient.data(),
             nullptr, which == 0 ? w.actionGradient0.data() : w.actionGradient1.data(), w.criticDeltas);
  }
  const float temperature = static_cast<float>(std::exp(logTemperature_));
  double loss = 0;
  double density = 0;
  for (int row = 0; row < batch; ++row) {
    const float* head = w.actorPass.output() + Workspace::rowsOf(row, headStride);
    const float* noise = w.noise.data() + Workspace::rowsOf(row, actionSize);
    const std::size_t at = Workspace::rowsOf(row, stride(actionSize));
    float* gradient = w.actorGradient.data() + Workspace::rowsOf(row, headStride);
    for (int i = 0; i < actionSize; ++i) {
      const SquashedSample sample = squash(head[i], head[actionSize + i], noise[i]);
      const float ofAction = w.actionGradient0[at + i] + w.actionGradient1[at + i];
      // d log pi / du = 2 tanh u: the density grows where tanh is flat.
      const float ofPlain = temperature * 2 * sample.action / static_cast<float>(batch) +
                            ofAction * (1 - sample.action * sample.action);
      gradient[i] = ofPlain;
      gradient[actionSize + i] =
          (ofPlain * sample.sigma * noise[i] - temperature / static_cast<float>(batch)) * sample.spreadSlope;
    }
    const std::size_t q = Workspace::rowsOf(row, outStride);
    loss += temperature * w.logDensity[row] - std::min(w.criticPass0.output()[q], w.criticPass1.output()[q]);
    density += w.logDensity[row];
  }
  double kept = 0;
  double cloning = 0;
  if (clones) cloning = filteredCloning(options_.cloningWeight, filters, &kept);
  w.actorTransposed.update(actorNetwork_, actor_.parameters.data());
  backward(kernels_, actorNetwork_, w.actorTransposed, w.observations.data(), batch, w.actorPass,
           w.actorGradient.data(), actor_.gradients.data(), nullptr, w.actorDeltas);
  step(actor_, options_.learningRate);
  density /= batch;
  report.actorLoss += loss / batch + options_.cloningWeight * cloning;
  report.cloningLoss += cloning;
  report.kept += kept;
  report.entropy -= density;
  if (options_.tuneTemperature) tuneTemperature(density);
  report.temperature += std::exp(logTemperature_);
}

void SacLearner::tuneTemperature(double meanLogDensity) {
  temperatureGradient_ = -(meanLogDensity - options_.actionSize);
  ++temperatureSteps_;
  temperatureMoment1_ = kBeta1 * temperatureMoment1_ + (1 - kBeta1) * temperatureGradient_;
  temperatureMoment2_ =
      kBeta2 * temperatureMoment2_ + (1 - kBeta2) * temperatureGradient_ * temperatureGradient_;
  const double t = static_cast<double>(temperatureSteps_);
  const double first = temperatureMoment1_ / (1 - std::pow(kBeta1, t));
  const double second = temperatureMoment2_ / (1 - std::pow(kBeta2, t));
  logTemperature_ -= options_.learningRate * first / (std::sqrt(second) + kEpsilon);
}

UpdateReport SacLearner::update(int updates) {
  UpdateReport report;
  for (int i = 0; i < updates; ++i) {
    drawMinibatch(drawBankRows());
    updateCritics(report);
    updateActor(report);
    kernels_.blend(targets_.data(), critics_.parameters.data(), targets_.size(),
                   static_cast<float>(options_.targetRate));
  }
  return mean(report, updates);
}

UpdateReport SacLearner::clone(int updates) {
  if (bank_ == nullptr) throw LearnerError(ErrorKind::kState, "there is no bank to clone from");
  Workspace& w = *work_;
  UpdateReport report;
  for (int i = 0; i < updates; ++i) {
    drawMinibatch(options_.batch);
    forward(kernels_, actorNetwork_, actor_.parameters.data(), w.observations.data(), options_.batch,
            w.actorPass);
    std::fill_n(w.actorGradient.data(), w.actorGradient.size(), 0.0F);
    double kept = 0;
    report.cloningLoss += filteredCloning(1, false, &kept);
    report.kept += kept;
    w.actorTransposed.update(actorNetwork_, actor_.parameters.data());
    backward(kernels_, actorNetwork_, w.actorTransposed, w.observations.data(), options_.batch, w.actorPass,
             w.actorGradient.data(), actor_.gradients.data(), nullptr, w.actorDeltas);
    step(actor_, options_.learningRate);
    report.temperature += std::exp(logTemperature_);
  }
  return mean(report, updates);
}

UpdateReport SacLearner::mean(UpdateReport sum, int updates) {
  if (updates <= 0) return sum;
  const double n = updates;
  return {sum.criticLoss / n,  sum.actorLoss / n, sum.cloningLoss / n, sum.kept / n,
          sum.temperature / n, sum.entropy / n,   sum.meanQ / n};
}

MinibatchView SacLearner::minibatch() const {
  const Workspace& w = *work_;
  return {options_.batch,
          w.bankRows,
          actorNetwork_.inputStride(),
          w.observations.data(),
          w.nextObservations.data(),
          w.actions.data(),
          w.rewards.data(),
          w.terminals.data(),
          w.weights.data(),
          w.nextNoise.data(),
          w.noise.data()};
}

}  // namespace surgiclaw::learner
