/** The part of the native addon `lab` that learns (`native/learner`), typed. Calls compute on the caller's thread. */
import { createRequire } from "node:module";
import { CellError, errorCatalogue, type ErrorCode } from "../../base/errors.js";
import { addonPath } from "../../base/paths.js";

/** native/learner/include/surgiclaw/learner/options.h says what each means and what it is when left out. */
export interface LearnerOptions {
  readonly observationSize: number;
  readonly actionSize: number;
  readonly hidden?: readonly number[];
  readonly batch?: number;
  readonly ringCapacity?: number;
  readonly gamma?: number;
  readonly bootstrapAtDone?: boolean;
  readonly targetRate?: number;
  readonly learningRate?: number;
  readonly weightDecay?: number;
  readonly temperature?: number;
  readonly tuneTemperature?: boolean;
  readonly bankFraction?: number;
  readonly binomialMix?: boolean;
  readonly cloningWeight?: number;
  readonly qFilter?: boolean;
  readonly seed?: number;
  readonly instructionSet?: "auto" | "avx512" | "avx2" | "generic";
}

/** Transitions in rows. */
export interface TransitionColumns {
  readonly observations: Float32Array;
  readonly actions: Float32Array;
  readonly nextObservations: Float32Array;
  readonly rewards: Float32Array;
  readonly terminals: Uint8Array;
}

export interface BankColumns extends TransitionColumns {
  /** w of equation 4. */
  readonly weights: Float32Array;
  /** p, normalised by the learner. */
  readonly probabilities: Float64Array;
}

/** Means over the updates of one call. */
export interface UpdateReport {
  readonly criticLoss: number;
  readonly actorLoss: number;
  readonly cloningLoss: number;
  readonly kept: number;
  readonly temperature: number;
  readonly entropy: number;
  readonly meanQ: number;
}

/** A fully connected layer: weights [outputs][inputs]. */
export interface DenseLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly weights: Float32Array;
  readonly bias: Float32Array;
}

/**
 * The actor: layers with ReLU between them over observations held as clamp((o - mean) * scale, ±10). Its last layer gives
 * the means of the actions, to be passed through tanh, and behind them their raw spreads.
 */
export interface ActorWeights {
  readonly layers: readonly DenseLayer[];
  readonly mean: Float32Array;
  readonly scale: Float32Array;
}

/** Errors carry a `code` of the catalogue. */
export interface NativeLearner {
  /** Before the first transition. */
  setNormaliser(mean: Float32Array, scale: Float32Array): void;
  setBank(bank: BankColumns): void;
  store(
    observations: Float32Array,
    actions: Float32Array,
    nextObservations: Float32Array,
    rewards: Float32Array,
    terminals: Uint8Array,
  ): void;
  /** Writes a row of actions for each row of observations. */
  act(observations: Float32Array, mode: "evaluate" | "explore" | "uniform", actions: Float32Array): void;
  /** Equation 4 alone. */
  clone(updates: number): UpdateReport;
  update(updates: number): UpdateReport;
  /** All but options, normaliser and bank. */
  save(): Uint8Array;
  restore(checkpoint: Uint8Array): void;
  actor(): ActorWeights;
  readonly instructionSet: string;
  readonly stored: number;
}

interface LearnerAddon {
  readonly Learner: new (options: LearnerOptions) => NativeLearner;
}

let loaded: LearnerAddon | undefined;

function learnerAddon(): LearnerAddon {
  if (loaded === undefined) {
    const file = addonPath("lab");
    const remedy = "`npm run setup` builds it";
    let addon: Partial<LearnerAddon>;
    try {
      addon = createRequire(import.meta.url)(file) as Partial<LearnerAddon>;
    } catch (error) {
      throw new CellError("INTERNAL", `the native addon cannot be loaded from ${file}`, {
        cause: error,
        remedy,
      });
    }
    if (addon.Learner === undefined)
      throw new CellError("INTERNAL", `${file} was built without the learner`, { remedy });
    loaded = addon as LearnerAddon;
  }
  return loaded;
}

/** Runs `call`; an error of the native side becomes one of the catalogue. */
export function learnerCall<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    const known = typeof code === "string" && code in errorCatalogue ? (code as ErrorCode) : "INTERNAL";
    throw new CellError(known, String(message ?? error), { cause: error });
  }
}

/** @throws CellError INTERNAL when the addon is not built, CONFIG_INVALID for an option out of range */
export function createLearner(options: LearnerOptions): NativeLearner {
  const addon = learnerAddon();
  return learnerCall(() => new addon.Learner(options));
}
