/**
 * How far an observer's records are from what truly happened. Read as the published figures are: valid, kept by the
 * gate, exact, within one, error of the first arrival.
 */
import { recordOf, requireRecordsOf } from "../compile-bank.js";
import { gate, type CompilerConstants } from "../compiler.js";
import { stepCount } from "../episode.js";
import type { PhaseReference } from "../phase-reference.js";
import type { RecordLine } from "../record-store.js";
import { readEpisode, type SupportPool } from "../support-pool.js";
import { highestRank, phaseIndex, rankOf, type TaskVocabulary } from "../task-vocabulary.js";
import { CellError } from "../../../base/errors.js";
import { wilson, type Share } from "../../evaluation/statistics.js";

/** One episode, as judged and as it was. */
export interface Judged {
  readonly episode: string;
  readonly phase: string;
  readonly truePhase: string;
  readonly arrival: readonly [number, number] | null;
  readonly trueArrival: number | null;
  /** First arrival, truly, at the phase that was named; null when it was not reached. */
  readonly trueArrivalOfNamed: number | null;
  readonly confidence: number;
  readonly kept: boolean;
}

export interface Reliability {
  readonly task: string;
  readonly source: string;
  readonly observer: string;
  readonly model: string | null;
  /** Of all episodes, those with a reply. */
  readonly asked: Share;
  /** Of all replies. */
  readonly valid: Share;
  readonly gated: Share;
  /** Of valid records. One label up or down, or one rank. */
  readonly exact: Share;
  readonly withinOneLabel: Share;
  readonly withinOneRank: Share;
  /** Steps from the middle of the bracket to the true first arrival at the furthest phase, and how many had both. */
  readonly arrivalMae: number | null;
  readonly arrivalCompared: number;
  /** The same against the true arrival at the phase that was named, where it was reached. */
  readonly arrivalOfNamedMae: number | null;
  readonly arrivalOfNamedCompared: number;
  /** True arrivals that lie inside their bracket. */
  readonly insideBracket: Share;
  /** Rows: true phase; columns: named phase; in the order of the vocabulary. */
  readonly confusion: readonly (readonly number[])[];
  readonly labels: readonly string[];
  /** Why replies were invalid or refused by the gate, with counts. */
  readonly invalid: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, number>>;
  readonly judged: readonly Judged[];
}

/** @throws CellError PHASE_FILE_FOREIGN, PHASE_FILE_INVALID when the reference lacks an episode */
export async function assessReliability(
  pool: SupportPool,
  vocabulary: TaskVocabulary,
  lines: readonly RecordLine[],
  reference: PhaseReference,
  constants: CompilerConstants,
): Promise<Reliability> {
  requireRecordsOf(lines, pool, vocabulary);
  const judged: Judged[] = [];
  const invalid: Record<string, number> = {};
  const refused: Record<string, number> = {};
  for (const line of lines) {
    const episode = await readEpisode(pool, vocabulary, line.episode);
    const truth = reference.get(line.episode);
    if (truth === undefined) {
      throw new CellError("PHASE_FILE_INVALID", `the reference does not hold episode ${line.episode}`);
    }
    const parsed = recordOf(line, vocabulary, episode);
    if (!parsed.ok) {
      invalid[parsed.reason] = (invalid[parsed.reason] ?? 0) + 1;
      continue;
    }
    const { phase, arrival, confidence } = parsed.record;
    const rank = rankOf(vocabulary, phase);
    const reasons = gate({ rank, arrival, confidence }, stepCount(episode), constants.minConfidence);
    for (const reason of reasons) refused[reason] = (refused[reason] ?? 0) + 1;
    judged.push({
      episode: line.episode,
      phase,
      truePhase: truth.phase,
      arrival,
      trueArrival: truth.arrival,
      trueArrivalOfNamed: truth.arrivals[phase] ?? null,
      confidence,
      kept: reasons.length === 0,
    });
  }
  const { manifest } = pool;
  return {
    task: vocabulary.task,
    source: manifest.source,
    observer: [...new Set(lines.map(({ observer }) => observer))].join(", "),
    model: [...new Set(lines.flatMap(({ model }) => model ?? []))].join(", ") || null,
    asked: wilson(lines.length, manifest.episodes.length),
    valid: wilson(judged.length, lines.length),
    gated: wilson(judged.filter(({ kept }) => kept).length, lines.length),
    ...agreement(judged, vocabulary),
    ...arrivals(judged),
    labels: vocabulary.phases.map(({ label }) => label),
    invalid,
    refused,
    judged,
  };
}

function agreement(
  judged: readonly Judged[],
  vocabulary: TaskVocabulary,
): Pick<Reliability, "exact" | "withinOneLabel" | "withinOneRank" | "confusion"> {
  const off = (by: (label: string) => number): number[] =>
    judged.map(({ phase, truePhase }) => Math.abs(by(phase) - by(truePhase)));
  const labels = off((label) => phaseIndex(vocabulary, label));
  const ranks = off((label) => rankOf(vocabulary, label));
  const upTo = (list: readonly number[], limit: number): Share =>
    wilson(list.filter((distance) => distance <= limit).length, judged.length);
  const confusion = vocabulary.phases.map(({ label: truth }) =>
    vocabulary.phases.map(
      ({ label }) => judged.filter(({ phase, truePhase }) => phase === label && truePhase === truth).length,
    ),
  );
  return {
    exact: upTo(labels, 0),
    withinOneLabel: upTo(labels, 1),
    withinOneRank: upTo(ranks, 1),
    confusion,
  };
}

function arrivals(
  judged: readonly Judged[],
): Pick<
  Reliability,
  "arrivalMae" | "arrivalCompared" | "arrivalOfNamedMae" | "arrivalOfNamedCompared" | "insideBracket"
> {
  const errors = (of: (one: Judged) => number | null): number[] =>
    judged.flatMap((one) => {
      const truth = of(one);
      return one.arrival === null || truth === null
        ? []
        : [Math.abs((one.arrival[0] + one.arrival[1]) / 2 - truth)];
    });
  const mean = (list: readonly number[]): number | null =>
    list.length === 0 ? null : list.reduce((sum, value) => sum + value, 0) / list.length;
  const furthest = errors(({ trueArrival }) => trueArrival);
  const named = errors(({ trueArrivalOfNamed }) => trueArrivalOfNamed);
  const inside = judged.filter(
    ({ arrival, trueArrival }) =>
      arrival !== null && trueArrival !== null && arrival[0] <= trueArrival && trueArrival <= arrival[1],
  ).length;
  return {
    arrivalMae: mean(furthest),
    arrivalCompared: furthest.length,
    arrivalOfNamedMae: mean(named),
    arrivalOfNamedCompared: named.length,
    insideBracket: wilson(inside, furthest.length),
  };
}

/** Share of a pool's episodes that truly reached each rank, 1 to 5: what a learner can find in it at all. */
export function milestoneCoverage(
  reference: PhaseReference,
  vocabulary: TaskVocabulary,
  episodes: readonly string[],
): readonly { readonly rank: number; readonly share: Share }[] {
  const reached = episodes.map((id) => {
    const truth = reference.get(id);
    if (truth === undefined) {
      throw new CellError("PHASE_FILE_INVALID", `the reference does not hold episode ${id}`);
    }
    return rankOf(vocabulary, truth.phase);
  });
  return Array.from({ length: highestRank }, (_, index) => ({
    rank: index + 1,
    share: wilson(reached.filter((rank) => rank > index).length, episodes.length),
  })).filter(({ rank }) => vocabulary.phases.some((phase) => phase.rank === rank));
}
