/**
 * The learning methods by name. Each is data: which support it takes, and what of the support enters the bank's rewards,
 * weights and sampling, the start and the actor's loss. Names and meaning follow the published controls
 * (Phase-and-First-Arrival, baselines); where the publication is silent the comment says what was decided.
 */
import { CellError } from "../../base/errors.js";

export interface Method {
  readonly summary: string;
  /**
   * What `--support` must name. bank: a compiled bank; oracle-bank: one compiled from an oracle's replies; pool: a whole
   * support pool, ungated; none.
   */
  readonly support: "bank" | "oracle-bank" | "pool" | "none";
  /**
   * Reward of the bank's transitions. credited: equation 1; environment: as recorded; final: the record's credit at the
   * last step of its episode; spread: the record's credit over all steps of its episode.
   */
  readonly reward: "credited" | "environment" | "final" | "spread";
  /** w of equation 4. arrival: equation 2; one: 1. */
  readonly weights: "arrival" | "one";
  /** How the bank is drawn from. priority: equation 3, of what `reward` and `weights` made; uniform. */
  readonly sampling: "priority" | "uniform";
  /** Begins with cloning alone. */
  readonly warmStart: boolean;
  /** Cloning in the actor's loss (equation 5), or as the whole loss where nothing is collected. */
  readonly cloning: boolean;
  /** Collects with the policy and learns by SAC; else it only clones. */
  readonly online: boolean;
  /** Reward of the worlds it collects in. shaped: the simulator's privileged one, for collectors of support alone. */
  readonly worlds: "sparse" | "shaped";
}

const full = {
  reward: "credited",
  weights: "arrival",
  sampling: "priority",
  warmStart: true,
  cloning: true,
  online: true,
  worlds: "sparse",
} as const;

export const methods = {
  "phase-arrival": {
    ...full,
    summary: "the whole method, on a bank compiled from an observer's replies",
    support: "bank",
  },
  oracle: { ...full, summary: "the same on true phases: the ceiling of a pool", support: "oracle-bank" },
  sparse: {
    ...full,
    summary: "SAC on the terminal reward, without support",
    support: "none",
    warmStart: false,
    cloning: false,
  },
  shaped: {
    ...full,
    summary: "no competitor: collector of `shaped` support, SAC on the simulator's privileged reward",
    support: "none",
    warmStart: false,
    cloning: false,
    worlds: "shaped",
  },
  "uniform-bc": {
    ...full,
    summary: "cloning of the whole pool, all steps alike",
    support: "pool",
    reward: "environment",
    weights: "one",
    sampling: "uniform",
    online: false,
  },
  // The published text gives it gate and weights; priorities come with the full compiler.
  "phase-bc": {
    ...full,
    summary: "cloning of the gated records by their arrival weights",
    support: "bank",
    reward: "environment",
    sampling: "uniform",
    online: false,
  },
  "sac-bc": {
    ...full,
    summary: "phase-bc with SAC on the sparse reward",
    support: "bank",
    reward: "environment",
    sampling: "uniform",
  },
  // "No BC start": we leave cloning out of the loss too, so that reward and replay are all there is.
  "reward-only": {
    ...full,
    summary: "credited rewards and priorities without any cloning",
    support: "bank",
    warmStart: false,
    cloning: false,
  },
  // "No localisation, no record-derived weights": the whole credit where a sparse reward would come.
  "direct-phase": {
    ...full,
    summary: "the phase's credit at the end of its episode, all steps alike",
    support: "bank",
    reward: "final",
    weights: "one",
    sampling: "uniform",
  },
  "uniform-credit": {
    ...full,
    summary: "the phase's credit and weight spread over its episode",
    support: "bank",
    reward: "spread",
    weights: "one",
  },
} as const satisfies Record<string, Method>;

export type MethodName = keyof typeof methods;
export const methodNames = Object.keys(methods) as MethodName[];

const isMethod = (name: string): name is MethodName => Object.hasOwn(methods, name);

/** @throws CellError COMMAND_INVALID for a name that is none */
export function methodNamed(name: string): { readonly name: MethodName; readonly method: Method } {
  if (!isMethod(name))
    throw new CellError("COMMAND_INVALID", `there is no method ${name}`, {
      remedy: `one of ${methodNames.join(", ")}`,
    });
  return { name, method: methods[name] };
}
