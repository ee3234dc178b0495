#include "surgiclaw/learner/network.h"

#include <algorithm>
#include <cmath>

namespace surgiclaw::learner {

Network::Network(int inputs, const std::vector<int>& hidden, int outputs) {
  int before = inputs;
  const auto add = [&](int width) {
    layers_.push_back({before, width, stride(width), parameters_});
    parameters_ += static_cast<std::size_t>(before + 1) * static_cast<std::size_t>(stride(width));
    before = width;
  };
  for (const int width : hidden) add(width);
  add(outputs);
}

int Network::widest() const {
  int widest = inputStride();
  for (const Layer& layer : layers_) widest = std::max(widest, stride(layer.outputs + 1));
  return widest;
}

void Network::initialise(float* parameters, Random& random) const {
  for (const Layer& layer : layers_) {
    const float bound = 1 / std::sqrt(static_cast<float>(layer.inputs));
    for (int row = 0; row <= layer.inputs; ++row) {
      float* weights = parameters + layer.offset + static_cast<std::size_t>(row) * layer.stride;
      for (int column = 0; column < layer.outputs; ++column)
        weights[column] = bound * (2 * random.uniform() - 1);
    }
  }
}

Pass::Pass(const Network& network, int rows) : rows_(rows) {
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    const bool last = i + 1 == network.layers().size();
    const int width = last ? layer.stride : stride(layer.outputs + 1);
    Floats& output = outputs_.emplace_back(static_cast<std::size_t>(rows) * width);
    if (last) continue;
    for (int row = 0; row < rows; ++row) output[static_cast<std::size_t>(row) * width + layer.outputs] = 1;
  }
}

Transposed::Transposed(const Network& network, int firstInput, int inputCount)
    : firstInput_(firstInput), inputCount_(inputCount) {
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    const int width = stride(i == 0 ? inputCount : layer.inputs + 1);
    strides_.push_back(width);
    weights_.emplace_back(i == 0 && inputCount == 0 ? 0 : static_cast<std::size_t>(layer.outputs) * width);
  }
}

void Transposed::update(const Network& network, const float* parameters) {
  constexpr int kBlock = 16;
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    const int first = i == 0 ? firstInput_ : 0;
    const int count = i == 0 ? inputCount_ : layer.inputs;
    const float* from = parameters + layer.offset + static_cast<std::size_t>(first) * layer.stride;
    float* into = weights_[i].data();
    const int width = strides_[i];
    for (int row = 0; row < count; row += kBlock) {
      const int rowEnd = std::min(row + kBlock, count);
      for (int column = 0; column < layer.outputs; ++column)
        for (int r = row; r < rowEnd; ++r)
          into[static_cast<std::size_t>(column) * width + r] =
              from[static_cast<std::size_t>(r) * layer.stride + column];
    }
  }
}

Deltas::Deltas(const Network& network, int rows)
    : here(static_cast<std::size_t>(rows) * network.widest()),
      before(static_cast<std::size_t>(rows) * network.widest()) {}

void forward(const Kernels& kernels, const Network& network, const float* parameters, const float* input,
             int rows, Pass& pass) {
  const float* from = input;
  int fromStride = network.inputStride();
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    const bool last = i + 1 == network.layers().size();
    Product product;
    product.m = rows;
    product.n = (layer.outputs + 15) / 16 * 16;
    product.k = layer.inputs + 1;
    product.a = from;
    product.aStride = fromStride;
    product.b = parameters + layer.offset;
    product.bStride = layer.stride;
    product.c = pass.layer(i);
    product.cStride = last ? layer.stride : stride(layer.outputs + 1);
    product.finish = last ? Finish::kNone : Finish::kRelu;
    kernels.multiply(product);
    from = product.c;
    fromStride = product.cStride;
  }
}

void backward(const Kernels& kernels, const Network& network, const Transposed& transposed,
              const float* input, int rows, const Pass& pass, const float* outputGradient, float* gradients,
              float* inputGradient, Deltas& deltas) {
  const float* delta = outputGradient;
  int deltaStride = network.outputStride();
  float* next = deltas.here.data();
  float* spare = deltas.before.data();
  for (std::size_t i = network.layers().size(); i-- > 0;) {
    const Layer& layer = network.layers()[i];
    const float* before = i == 0 ? input : pass.layer(i - 1);
    const int beforeStride = i == 0 ? network.inputStride() : stride(layer.inputs + 1);
    if (gradients != nullptr) {
      Product weights;
      weights.m = layer.inputs + 1;
      weights.n = (layer.outputs + 15) / 16 * 16;
      weights.k = rows;
      weights.a = before;
      weights.aStride = beforeStride;
      weights.aTransposed = true;
      weights.b = delta;
      weights.bStride = deltaStride;
      weights.c = gradients + layer.offset;
      weights.cStride = layer.stride;
      kernels.multiply(weights);
    }
    if (i == 0 && inputGradient == nullptr) return;
    Product through;
    through.m = rows;
    through.n = i == 0 ? stride(transposed.inputCount()) : (layer.inputs + 15) / 16 * 16;
    through.k = layer.outputs;
    through.a = delta;
    through.aStride = deltaStride;
    through.b = transposed.layer(i);
    through.bStride = transposed.layerStride(i);
    through.c = i == 0 ? inputGradient : next;
    through.cStride = i == 0 ? stride(transposed.inputCount()) : beforeStride;
    if (i > 0) {
      through.finish = Finish::kMask;
      through.mask = before;
    }
    kernels.multiply(through);
    delta = through.c;
    deltaStride = through.cStride;
    float* const used = next;
    next = spare;
    spare = used;
  }
}

}  // namespace surgiclaw::learner
