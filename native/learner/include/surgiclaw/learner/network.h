// A fully connected network with ReLU between its layers. Bias is one more row of weights, fed by a column of
// ones that every input carries behind its values; so bias costs neither code nor passes of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "surgiclaw/learner/floats.h"
#include "surgiclaw/learner/kernels.h"
#include "surgiclaw/learner/random.h"

namespace surgiclaw::learner {

struct Layer {
  int inputs;
  int outputs;
  /// Floats of a row of weights, [inputs + 1][stride]: the last row is the bias. Columns from `outputs` on
  /// stay zero.
  int stride;
  /// Of the first weight in the block of parameters.
  std::size_t offset;
};

class Network {
 public:
  Network(int inputs, const std::vector<int>& hidden, int outputs);

  const std::vector<Layer>& layers() const { return layers_; }
  int inputs() const { return layers_.front().inputs; }
  int outputs() const { return layers_.back().outputs; }
  /// Floats of one set of parameters, padding included.
  std::size_t parameterCount() const { return parameters_; }
  /// Of a row of its input, room for the column of ones included.
  int inputStride() const { return stride(inputs() + 1); }
  int outputStride() const { return layers_.back().stride; }
  /// Of its widest layer, the input included.
  int widest() const;

  /// Weights and biases uniform within 1/sqrt(inputs), as PyTorch begins a linear layer.
  void initialise(float* parameters, Random& random) const;

 private:
  std::vector<Layer> layers_;
  std::size_t parameters_ = 0;
};

/// Memory of one pass over up to `rows` inputs: what every layer put out.
class Pass {
 public:
  Pass(const Network& network, int rows);
  int rows() const { return rows_; }
  float* layer(std::size_t index) { return outputs_[index].data(); }
  const float* layer(std::size_t index) const { return outputs_[index].data(); }
  /// What the last layer put out, [rows][outputStride].
  const float* output() const { return outputs_.back().data(); }

 private:
  int rows_;
  std::vector<Floats> outputs_;
};

/// The weights of all layers but the first as their transposes, and of the first the rows of inputs whose
/// gradient is wanted: made once after the parameters have changed.
class Transposed {
 public:
  /// @param firstInput, inputCount the inputs whose gradient is wanted; none with a count of 0
  Transposed(const Network& network, int firstInput, int inputCount);
  void update(const Network& network, const float* parameters);
  const float* layer(std::size_t index) const { return weights_[index].data(); }
  int layerStride(std::size_t index) const { return strides_[index]; }
  int inputCount() const { return inputCount_; }

 private:
  int firstInput_;
  int inputCount_;
  std::vector<Floats> weights_;
  std::vector<int> strides_;
};

/// Memory of a backward pass.
struct Deltas {
  Deltas(const Network& network, int rows);
  Floats here;
  Floats before;
};

/// @param input [rows][inputStride], ones in column `inputs`
void forward(const Kernels& kernels, const Network& network, const float* parameters, const float* input,
             int rows, Pass& pass);

/// @param outputGradient [rows][outputStride], zero in the columns from `outputs` on
/// @param gradients as the parameters, written whole; null when only the input's gradient is wanted
/// @param inputGradient [rows][stride(inputCount)] of the inputs that `transposed` was made for; null for
/// none
void backward(const Kernels& kernels, const Network& network, const Transposed& transposed,
              const float* input, int rows, const Pass& pass, const float* outputGradient, float* gradients,
              float* inputGradient, Deltas& deltas);

}  // namespace surgiclaw::learner
