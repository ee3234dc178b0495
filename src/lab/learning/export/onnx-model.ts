/**
 * A policy as an ONNX model (opset 13): one row of observations in, evaluation actions out, normalisation inside.
 *
 *   observation -> Sub mean -> Mul scale -> Clip ±10 -> Gemm, Relu ... -> Gemm -> Tanh -> action
 *
 * Gemm has transB = 1 and weights [outputs, inputs], as PyTorch exports them: the importer of OpenCV's dnn takes no other.
 * Of the last layer only the means are kept. Field numbers are those of onnx.proto (ONNX IR specification).
 */
import { bytes, float, integer, message, text, type Field } from "./protobuf.js";
import type { PolicyFile } from "../policy-file.js";

export const onnxInput = "observation";
export const onnxOutput = "action";

const opset = 13;
const irVersion = 7;
const elementFloat = 1;
const observationLimit = 10;

function tensor(name: string, shape: readonly number[], values: Float32Array): Field {
  const raw = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => raw.writeFloatLE(value, 4 * index));
  const dims = shape.map((size) => integer(1, size));
  return message(5, ...dims, integer(2, elementFloat), text(8, name), bytes(9, raw));
}

function node(
  kind: string,
  inputs: readonly string[],
  output: string,
  attributes: readonly Field[] = [],
): Field {
  return message(
    1,
    ...inputs.map((name) => text(1, name)),
    text(2, output),
    text(3, output),
    text(4, kind),
    ...attributes,
  );
}

const floatAttribute = (name: string, value: number): Field =>
  message(5, text(1, name), float(2, value), integer(20, 1));
const integerAttribute = (name: string, value: number): Field =>
  message(5, text(1, name), integer(3, value), integer(20, 2));

const valueInfo = (field: number, name: string, width: number): Field => {
  const shape = message(2, message(1, integer(1, 1)), message(1, integer(1, width)));
  return message(field, text(1, name), message(2, message(1, integer(1, elementFloat), shape)));
};

/** The bytes of the model; the same policy gives the same bytes. */
export function onnxModel(policy: PolicyFile): Uint8Array {
  const { observationSize, actionSize, layers, mean, scale } = policy;
  const nodes: Field[] = [
    node("Sub", [onnxInput, "mean"], "shifted"),
    node("Mul", ["shifted", "scale"], "scaled"),
    node("Clip", ["scaled", "low", "high"], "normalised"),
  ];
  const weights: Field[] = [
    tensor("mean", [1, observationSize], mean),
    tensor("scale", [1, observationSize], scale),
    tensor("low", [], Float32Array.of(-observationLimit)),
    tensor("high", [], Float32Array.of(observationLimit)),
  ];
  let before = "normalised";
  layers.forEach((layer, index) => {
    const last = index + 1 === layers.length;
    const outputs = last ? actionSize : layer.outputs;
    weights.push(
      tensor(`weights${index}`, [outputs, layer.inputs], layer.weights.subarray(0, outputs * layer.inputs)),
      tensor(`bias${index}`, [outputs], layer.bias.subarray(0, outputs)),
    );
    const attributes = [
      floatAttribute("alpha", 1),
      floatAttribute("beta", 1),
      integerAttribute("transA", 0),
      integerAttribute("transB", 1),
    ];
    nodes.push(node("Gemm", [before, `weights${index}`, `bias${index}`], `sum${index}`, attributes));
    before = last ? onnxOutput : `layer${index}`;
    nodes.push(node(last ? "Tanh" : "Relu", [`sum${index}`], before));
  });
  const graph = [
    ...nodes,
    text(2, policy.task),
    ...weights,
    valueInfo(11, onnxInput, observationSize),
    valueInfo(12, onnxOutput, actionSize),
  ];
  const about = { task: policy.task, run: policy.run, updates: String(policy.updates) };
  return Buffer.concat([
    integer(1, irVersion),
    text(2, "surgiclaw"),
    message(7, ...graph),
    message(8, text(1, ""), integer(2, opset)),
    ...Object.entries(about).map(([key, value]) => message(14, text(1, key), text(2, value))),
  ]);
}
