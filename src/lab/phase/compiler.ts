/**
 * From records to a training signal: gate, localised credit, arrival weight and sampling distribution.
 *
 * Equations 1 to 3 of the published method (Phase-and-First-Arrival, sections "gate" and "compiler"). With an accepted
 * record of rank k and bracket [l, u] in an episode of T steps, middle m = (l + u) / 2 and W = { t : |t - m| <= h }:
 *
 *   (1)  credited(t) = reward(t) + g[k] / |W|   inside W, reward(t) outside
 *   (2)  weight(t)   = exp(-(t - m)^2 / (2 sigma^2))
 *   (3)  p(i, t)     ~ 1 + eta_r (credited - reward) + eta_a weight, over all transitions of all accepted records
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { highestRank } from "./task-vocabulary.js";

/** Published values are the defaults. */
export const constantsSchema = z.strictObject({
  /** c_min of the gate. */
  minConfidence: z.number().min(0).max(1).default(0.7),
  /** h, steps. From 1/2 on no window is empty. */
  creditHalfWidth: z.number().min(0.5).default(10),
  /** sigma, steps. */
  arrivalSigma: z.number().gt(0).default(8),
  /** g by rank 0 to 5: nothing for nothing, and never less for getting further. */
  creditByRank: z
    .array(z.number().min(0))
    .length(highestRank + 1)
    .refine((credit) => credit[0] === 0, { error: "rank 0 earns no credit" })
    .refine((credit) => credit.every((value, rank) => rank === 0 || value >= (credit[rank - 1] ?? 0)), {
      error: "credit never falls with rank",
    })
    .default([0, 0, 0.2, 0.55, 0.55, 0.9]),
  /**
   * Where credit and weight go: around the arrival, or, as a control that knows the rank but not the time, over the
   * whole episode alike (W is all steps, the weight is 1).
   */
  spread: z.enum(["arrival", "episode"]).default("arrival"),
  /** eta_r. */
  creditPriority: z.number().min(0).default(4),
  /** eta_a. */
  arrivalPriority: z.number().min(0).default(1),
});

export type CompilerConstants = z.infer<typeof constantsSchema>;
export const publishedConstants: CompilerConstants = constantsSchema.parse({});

/** Why a record gives nothing to the bank. */
export type GateReason = "confidence" | "rank" | "arrival" | "bracket";

/** Every reason to refuse the record; none: it is accepted. `steps` is T. */
export function gate(
  record: {
    readonly rank: number;
    readonly arrival: readonly [number, number] | null;
    readonly confidence: number;
  },
  steps: number,
  minConfidence: number,
): GateReason[] {
  const reasons: GateReason[] = [];
  if (!(record.confidence >= minConfidence)) reasons.push("confidence");
  if (!(record.rank > 0)) reasons.push("rank");
  if (record.arrival === null) reasons.push("arrival");
  else {
    const [l, u] = record.arrival;
    if (!(0 <= l && l <= u && u < steps)) reasons.push("bracket");
  }
  return reasons;
}

/** The steps that share the credit, both ends included. */
export interface CreditWindow {
  readonly first: number;
  readonly last: number;
}

/** W: steps of the episode at most `halfWidth` from the middle. */
export function creditWindow(middle: number, steps: number, halfWidth: number): CreditWindow {
  let first = Math.max(0, Math.ceil(middle - halfWidth));
  let last = Math.min(steps - 1, Math.floor(middle + halfWidth));
  // The bounds above are rounded; distances from a whole or half middle are exact.
  if (Math.abs(first - middle) > halfWidth) first++;
  if (Math.abs(last - middle) > halfWidth) last--;
  return { first, last };
}

export const windowSize = ({ first, last }: CreditWindow): number => last - first + 1;

/** Equation 2. */
export const arrivalWeight = (step: number, middle: number, sigma: number): number =>
  Math.exp(-((step - middle) ** 2) / (2 * sigma ** 2));

export interface AcceptedEpisode {
  readonly rank: number;
  readonly arrival: readonly [number, number];
  /** r(t), one a step. */
  readonly rewards: readonly number[];
}

export interface CompiledEpisode {
  readonly middle: number;
  readonly window: CreditWindow;
  /** g[k], shared out over the window. */
  readonly credit: number;
  /** Equation 1. */
  readonly credited: Float64Array;
  /** Equation 2. */
  readonly weight: Float64Array;
  /** Equation 3, normalised over the whole bank. */
  readonly probability: Float64Array;
}

/** Equations 1 to 3 for all accepted records of a bank. @throws CellError PHASE_FILE_INVALID when there is none */
export function compileEpisodes(
  episodes: readonly AcceptedEpisode[],
  constants: CompilerConstants,
): CompiledEpisode[] {
  if (episodes.length === 0) {
    throw new CellError("PHASE_FILE_INVALID", "no record passed the gate: there is nothing to sample from", {
      remedy: "see the reasons with `surgiclaw phase report`; another support pool or observer is needed",
    });
  }
  const compiled = episodes.map((episode) => compileOne(episode, constants));
  const total = compensatedSum(compiled.map(({ probability }) => probability));
  for (const { probability } of compiled) {
    for (const step of probability.keys()) probability[step] = (probability[step] ?? 0) / total;
  }
  return compiled;
}

/** `probability` is still the unnormalised priority. */
function compileOne(episode: AcceptedEpisode, constants: CompilerConstants): CompiledEpisode {
  const { rewards, rank, arrival } = episode;
  const middle = (arrival[0] + arrival[1]) / 2;
  const everywhere = constants.spread === "episode";
  const window = everywhere
    ? { first: 0, last: rewards.length - 1 }
    : creditWindow(middle, rewards.length, constants.creditHalfWidth);
  const credit = constants.creditByRank[rank];
  if (credit === undefined) throw new CellError("INTERNAL", `rank ${rank} has no credit`);
  const share = credit / windowSize(window);
  const extra = (step: number): number => (step >= window.first && step <= window.last ? share : 0);
  const weight = Float64Array.from(rewards, (_, step) =>
    everywhere ? 1 : arrivalWeight(step, middle, constants.arrivalSigma),
  );
  return {
    middle,
    window,
    credit,
    credited: Float64Array.from(rewards, (reward, step) => reward + extra(step)),
    weight,
    probability: weight.map(
      (w, step) => 1 + constants.creditPriority * extra(step) + constants.arrivalPriority * w,
    ),
  };
}

/** Neumaier's sum: the error does not grow with the number of transitions. */
function compensatedSum(lists: readonly Float64Array[]): number {
  let sum = 0;
  let lost = 0;
  for (const list of lists) {
    for (const value of list) {
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    }
  }
  return sum + lost;
}
