// The losses of the learner written down once more, in double and without any of its code but the layout of
// parameters, so that its gradients can be held against numerical derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "surgiclaw/learner/network.h"
#include "surgiclaw/learner/sac_learner.h"

namespace surgiclaw::learner::reference {

using Vector = std::vector<double>;

inline Vector parametersOf(const float* from, std::size_t count) { return Vector(from, from + count); }

/// Smallest distance of a hidden sum from the kink of ReLU is of no matter here: steps of 1e-6 rarely cross
/// one.
inline Vector evaluate(const Network& network, const Vector& parameters, std::size_t offset, Vector values) {
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    Vector next(static_cast<std::size_t>(layer.outputs));
    for (int o = 0; o < layer.outputs; ++o) {
      double sum =
          parameters[offset + layer.offset + static_cast<std::size_t>(layer.inputs * layer.stride + o)];
      for (int k = 0; k < layer.inputs; ++k)
        sum += values[static_cast<std::size_t>(k)] *
               parameters[offset + layer.offset + static_cast<std::size_t>(k * layer.stride + o)];
      next[static_cast<std::size_t>(o)] = i + 1 < network.layers().size() ? std::max(0.0, sum) : sum;
    }
    values = next;
  }
  return values;
}

/// All parameters of actor, both critics and both targets, as they are now.
struct Nets {
  explicit Nets(SacLearner& learner)
      : actorNetwork(learner.actorNetwork()),
        criticNetwork(learner.criticNetwork()),
        actor(parametersOf(learner.actorParameters(), actorNetwork.parameterCount())),
        critics(parametersOf(learner.criticParameters(0), 2 * criticNetwork.parameterCount())),
        targets(parametersOf(learner.targetParameters(0), 2 * criticNetwork.parameterCount())),
        temperature(std::exp(learner.logTemperature())),
        options(learner.options()) {}

  double q(const Vector& parameters, int which, const Vector& observation, const Vector& action) const {
    Vector input = observation;
    input.insert(input.end(), action.begin(), action.end());
    return evaluate(criticNetwork, parameters, which * criticNetwork.parameterCount(), input)[0];
  }
  double minQ(const Vector& parameters, const Vector& observation, const Vector& action) const {
    return std::min(q(parameters, 0, observation, action), q(parameters, 1, observation, action));
  }

  const Network& actorNetwork;
  const Network& criticNetwork;
  Vector actor;
  Vector critics;
  Vector targets;
  double temperature;
  Options options;
};

struct Row {
  Vector observation;
  Vector next;
  Vector action;
  Vector noise;
  Vector nextNoise;
  double reward;
  double terminal;
  double weight;
};

inline std::vector<Row> rowsOf(const SacLearner& learner) {
  const MinibatchView m = learner.minibatch();
  const int o = learner.options().observationSize;
  const int a = learner.options().actionSize;
  std::vector<Row> rows;
  for (int r = 0; r < m.rows; ++r) {
    const float* observation = m.observations + r * m.observationStride;
    const float* next = m.nextObservations + r * m.observationStride;
    const float* action = m.actions + r * a;
    const float* noise = m.noise + r * a;
    const float* nextNoise = m.nextNoise + r * a;
    rows.push_back({Vector(observation, observation + o), Vector(next, next + o), Vector(action, action + a),
                    Vector(noise, noise + a), Vector(nextNoise, nextNoise + a), m.rewards[r], m.terminals[r],
                    m.weights[r]});
  }
  return rows;
}

struct Policy {
  Vector action;
  double logDensity;
};

/// a = tanh(mean + sigma noise), log pi = sum of log N(u) - log(1 - a^2); log sigma = -5 + 3.5 (tanh raw +
/// 1).
inline Policy act(const Nets& nets, const Vector& actor, const Vector& observation, const Vector& noise) {
  const Vector head = evaluate(nets.actorNetwork, actor, 0, observation);
  const std::size_t count = noise.size();
  Policy policy{Vector(count), 0};
  for (std::size_t i = 0; i < count; ++i) {
    const double logSigma = -5 + 3.5 * (std::tanh(head[count + i]) + 1);
    const double u = head[i] + std::exp(logSigma) * noise[i];
    policy.action[i] = std::tanh(u);
    policy.logDensity += -noise[i] * noise[i] / 2 - logSigma - std::log(2 * M_PI) / 2 -
                         std::log(1 - policy.action[i] * policy.action[i]);
  }
  return policy;
}

inline double criticLoss(const Nets& nets, const Vector& critics, const std::vector<Row>& rows) {
  double loss = 0;
  for (const Row& row : rows) {
    const Policy next = act(nets, nets.actor, row.next, row.nextNoise);
    const double goesOn = nets.options.bootstrapAtDone ? 1 : 1 - row.terminal;
    const double y = row.reward + nets.options.gamma * goesOn *
                                      (nets.minQ(nets.targets, row.next, next.action) -
                                       nets.temperature * next.logDensity);
    for (int which = 0; which < 2; ++which)
      loss += std::pow(nets.q(critics, which, row.observation, row.action) - y, 2) / 2;
  }
  return loss / static_cast<double>(rows.size());
}

inline Vector evaluationAction(const Nets& nets, const Vector& actor, const Vector& observation) {
  Vector head = evaluate(nets.actorNetwork, actor, 0, observation);
  head.resize(head.size() / 2);
  for (double& value : head) value = std::tanh(value);
  return head;
}

/// chi of equation 4 for each of the first `bankRows`.
inline std::vector<bool> kept(const Nets& nets, const std::vector<Row>& rows, int bankRows, bool filter) {
  std::vector<bool> result;
  for (int r = 0; r < bankRows; ++r) {
    const Row& row = rows[static_cast<std::size_t>(r)];
    const Vector own = evaluationAction(nets, nets.actor, row.observation);
    result.push_back(!filter || nets.minQ(nets.critics, row.observation, row.action) >=
                                    nets.minQ(nets.critics, row.observation, own));
  }
  return result;
}

/// Equation 4.
inline double cloningLoss(const Nets& nets, const Vector& actor, const std::vector<Row>& rows,
                          const std::vector<bool>& chi) {
  double above = 0;
  double below = 0;
  for (std::size_t r = 0; r < chi.size(); ++r) {
    if (!chi[r]) continue;
    const Vector own = evaluationAction(nets, actor, rows[r].observation);
    double distance = 0;
    for (std::size_t i = 0; i < own.size(); ++i) distance += std::pow(own[i] - rows[r].action[i], 2);
    above += rows[r].weight * distance / static_cast<double>(own.size());
    below += rows[r].weight;
  }
  return below > 0 ? above / below : 0;
}

/// Equation 5.
inline double actorLoss(const Nets& nets, const Vector& actor, const std::vector<Row>& rows,
                        const std::vector<bool>& chi) {
  double loss = 0;
  for (const Row& row : rows) {
    const Policy policy = act(nets, actor, row.observation, row.noise);
    loss += nets.temperature * policy.logDensity - nets.minQ(nets.critics, row.observation, policy.action);
  }
  return loss / static_cast<double>(rows.size()) +
         nets.options.cloningWeight * cloningLoss(nets, actor, rows, chi);
}

/// Central difference of `loss` along parameter `index`.
template <typename Loss>
double slope(Vector parameters, std::size_t index, const Loss& loss) {
  constexpr double kStep = 1e-6;
  const double at = parameters[index];
  parameters[index] = at + kStep;
  const double above = loss(parameters);
  parameters[index] = at - kStep;
  return (above - loss(parameters)) / (2 * kStep);
}

}  // namespace surgiclaw::learner::reference
