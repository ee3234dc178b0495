// All memory that updates use, made once.
#pragma once

#include "surgiclaw/learner/sac_learner.h"

namespace surgiclaw::learner {

constexpr int kActRows = 64;

struct SacLearner::Workspace {
  Workspace(const Network& actor, const Network& critic, int batch, int actionSize)
      : observations(rowsOf(batch, actor.inputStride())),
        nextObservations(rowsOf(batch, actor.inputStride())),
        criticInput(rowsOf(3 * batch, critic.inputStride())),
        actions(rowsOf(batch, actionSize)),
        rewards(batch),
        terminals(batch),
        weights(batch),
        noise(rowsOf(batch, actionSize)),
        nextNoise(rowsOf(batch, actionSize)),
        logDensity(batch),
        goals(batch),
        cloned(batch),
        actorGradient(rowsOf(batch, actor.outputStride())),
        criticGradient(rowsOf(batch, critic.outputStride())),
        actionGradient0(rowsOf(batch, stride(actionSize))),
        actionGradient1(rowsOf(batch, stride(actionSize))),
        actorPass(actor, batch),
        criticPass0(critic, 3 * batch),
        criticPass1(critic, 3 * batch),
        actorTransposed(actor, 0, 0),
        criticTransposed0(critic, critic.inputs() - actionSize, actionSize),
        criticTransposed1(critic, critic.inputs() - actionSize, actionSize),
        actorDeltas(actor, batch),
        criticDeltas(critic, batch),
        actInput(rowsOf(kActRows, actor.inputStride())),
        actPass(actor, kActRows) {
    for (int row = 0; row < batch; ++row) {
      observations[rowsOf(row, actor.inputStride()) + actor.inputs()] = 1;
      nextObservations[rowsOf(row, actor.inputStride()) + actor.inputs()] = 1;
    }
    for (int row = 0; row < 3 * batch; ++row)
      criticInput[rowsOf(row, critic.inputStride()) + critic.inputs()] = 1;
    for (int row = 0; row < kActRows; ++row) actInput[rowsOf(row, actor.inputStride()) + actor.inputs()] = 1;
  }

  static std::size_t rowsOf(int rows, int width) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  }

  int bankRows = 0;
  Floats observations;
  Floats nextObservations;
  /// Three parts at most: the policy's actions, the evaluation actions of the bank's rows, and their recorded
  /// ones.
  Floats criticInput;
  Floats actions;
  Floats rewards;
  Floats terminals;
  Floats weights;
  Floats noise;
  Floats nextNoise;
  /// log pi, summed over the action.
  Floats logDensity;
  /// y.
  Floats goals;
  /// chi * w of a bank row.
  Floats cloned;
  Floats actorGradient;
  Floats criticGradient;
  Floats actionGradient0;
  Floats actionGradient1;
  Pass actorPass;
  Pass criticPass0;
  Pass criticPass1;
  Transposed actorTransposed;
  Transposed criticTransposed0;
  Transposed criticTransposed1;
  Deltas actorDeltas;
  Deltas criticDeltas;
  Floats actInput;
  Pass actPass;
};

}  // namespace surgiclaw::learner
