// Where minibatches come from: a ring of what the policy met, and the frozen bank.
#pragma once

#include <cstdint>
#include <vector>

#include "surgiclaw/learner/alias_table.h"
#include "surgiclaw/learner/floats.h"

namespace surgiclaw::learner {

/// One transition as stored. Observations are already normalised.
struct TransitionView {
  const float* observation;
  const float* action;
  const float* nextObservation;
  float reward;
  /// 1 at a terminal step, which is not bootstrapped; a time limit is none.
  float terminal;
  /// Arrival weight of the bank; 0 in the ring.
  float weight;
};

/// Fixed rows of transitions in one block.
class Transitions {
 public:
  Transitions(int observationSize, int actionSize, int capacity);
  int capacity() const { return capacity_; }
  TransitionView at(int row) const;
  /// A row as floats: observation, action, next observation, reward, terminal, weight.
  int rowFloats() const { return rowFloats_; }
  float* row(int index) { return rows_.data() + static_cast<std::size_t>(index) * rowFloats_; }
  const float* row(int index) const { return rows_.data() + static_cast<std::size_t>(index) * rowFloats_; }

 private:
  int observationSize_;
  int actionSize_;
  int capacity_;
  int rowFloats_;
  Floats rows_;
};

class ReplayRing {
 public:
  ReplayRing(int observationSize, int actionSize, int capacity)
      : rows_(observationSize, actionSize, capacity) {}
  /// The row at `next` was written: the ring goes on behind it.
  void advance();
  int size() const { return size_; }
  TransitionView at(int row) const { return rows_.at(row); }

  Transitions& rows() { return rows_; }
  const Transitions& rows() const { return rows_; }
  int next() const { return next_; }
  void restore(int size, int next) {
    size_ = size;
    next_ = next;
  }

 private:
  Transitions rows_;
  int size_ = 0;
  int next_ = 0;
};

/// Drawn by its own probabilities (equation 3).
struct Bank {
  Bank(int observationSize, int actionSize, int count, const std::vector<double>& probabilities)
      : rows(observationSize, actionSize, count), table(probabilities) {}
  Transitions rows;
  AliasTable table;
};

}  // namespace surgiclaw::learner
