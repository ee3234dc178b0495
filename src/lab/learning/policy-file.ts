/** A trained policy on disk: the actor with its normalisation, and the run it comes from. Deterministic: tanh of the means. */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { parseJsonFile, readBytes } from "../phase/episode.js";
import type { ActorWeights } from "./native-learner.js";

export const policyFormat = "surgiclaw.policy/1";

/** Little-endian float32, base64. */
const floats = z.base64().transform((text, context) => {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % 4 !== 0) {
    context.addIssue({ code: "custom", message: "no whole number of floats" });
    return z.NEVER;
  }
  const values = Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
  if (values.some((value) => !Number.isFinite(value))) {
    context.addIssue({ code: "custom", message: "holds a value that is not finite" });
    return z.NEVER;
  }
  return values;
});

const layerSchema = z
  .strictObject({ inputs: z.int().min(1), outputs: z.int().min(1), weights: floats, bias: floats })
  .refine(
    ({ inputs, outputs, weights, bias }) => weights.length === inputs * outputs && bias.length === outputs,
    { error: "weights and bias do not fit the size of the layer" },
  );

const policySchema = z
  .strictObject({
    format: z.literal(policyFormat),
    task: z.string(),
    /** Name of the run. */
    run: z.string(),
    updates: z.int().min(0),
    observationSize: z.int().min(1),
    actionSize: z.int().min(1),
    mean: floats,
    scale: floats,
    layers: z.array(layerSchema).min(1),
  })
  .refine(
    ({ observationSize, actionSize, layers, mean, scale }) =>
      mean.length === observationSize &&
      scale.length === observationSize &&
      layers[0]?.inputs === observationSize &&
      layers.at(-1)?.outputs === 2 * actionSize &&
      layers.every(({ inputs }, index) => index === 0 || inputs === layers[index - 1]?.outputs),
    { error: "layers, observation and action do not fit together" },
  );

export type PolicyFile = z.output<typeof policySchema>;

const base64 = (values: Float32Array): string => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeFloatLE(value, 4 * index));
  return bytes.toString("base64");
};

export function encodePolicy(
  about: Pick<PolicyFile, "task" | "run" | "updates" | "observationSize" | "actionSize">,
  actor: ActorWeights,
): string {
  const layers = actor.layers.map(({ inputs, outputs, weights, bias }) => ({
    ...{ inputs, outputs },
    weights: base64(weights),
    bias: base64(bias),
  }));
  const { mean, scale } = actor;
  return `${JSON.stringify({ format: policyFormat, ...about, mean: base64(mean), scale: base64(scale), layers })}\n`;
}

/** @throws CellError CONFIG_UNREADABLE, PHASE_FILE_INVALID */
export async function readPolicy(file: string): Promise<PolicyFile> {
  return parseJsonFile(file, (await readBytes(file)).toString("utf8"), policySchema);
}

const observationLimit = 10;

/**
 * Evaluation actions for rows of observations, in double precision.
 * @throws CellError LEARNING_DATA_INVALID for an observation that is not finite
 */
export function policyActions(policy: PolicyFile, observations: Float32Array, actions: Float32Array): void {
  const { observationSize, actionSize, mean, scale, layers } = policy;
  for (let row = 0; row * observationSize < observations.length; row++) {
    let values = Float64Array.from({ length: observationSize }, (_, i) => {
      const value = ((observations[row * observationSize + i] ?? NaN) - (mean[i] ?? 0)) * (scale[i] ?? 0);
      if (!Number.isFinite(value))
        throw new CellError("LEARNING_DATA_INVALID", `observation of row ${row}, value ${i}, is not finite`);
      return Math.max(-observationLimit, Math.min(observationLimit, value));
    });
    layers.forEach(({ inputs, outputs, weights, bias }, index) => {
      const before = values;
      values = Float64Array.from({ length: outputs }, (_, out) => {
        let sum = bias[out] ?? 0;
        for (let i = 0; i < inputs; i++) sum += (weights[out * inputs + i] ?? 0) * (before[i] ?? 0);
        return index + 1 < layers.length ? Math.max(0, sum) : sum;
      });
    });
    for (let i = 0; i < actionSize; i++) actions[row * actionSize + i] = Math.tanh(values[i] ?? 0);
  }
}
