/** Tables over all kept runs: one cell for each task, method, source of support and budget, with the seeds behind it. */
import type { MethodName } from "./methods.js";
import { methodNames } from "./methods.js";
import { meanInterval, type MeanInterval } from "./mean-interval.js";
import { policyTasks, publishedPercent } from "./published-results.js";
import type { CurvePoint, PolicyRun } from "./run-file.js";

export interface ReportCell {
  readonly task: string;
  readonly method: MethodName;
  readonly source: string | undefined;
  readonly observer: string | undefined;
  readonly updates: number;
  readonly width: readonly number[];
  readonly batch: number;
  readonly gamma: number;
  readonly bootstrapAtDone: boolean;
  /** Success at the last point, percent. */
  readonly success: MeanInterval;
  readonly published: number | undefined;
  readonly runs: readonly PolicyRun[];
}

/** Mean over the five policy tasks, once every one of them has a run. */
export interface FiveTasks {
  readonly method: MethodName;
  readonly source: string | undefined;
  readonly updates: number;
  readonly mean: number;
  /** The least number of seeds behind a task. */
  readonly seeds: number;
  readonly published: number | undefined;
}

export interface PolicyReport {
  readonly cells: readonly ReportCell[];
  readonly fiveTasks: readonly FiveTasks[];
  /** Runs that are not finished yet and count nowhere. */
  readonly unfinished: number;
}

export const percentOf = ({ successes, episodes }: CurvePoint): number => (100 * successes) / episodes;

function grouped<T>(values: readonly T[], key: (value: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const name = key(value);
    groups.set(name, [...(groups.get(name) ?? []), value]);
  }
  return [...groups.values()];
}

/** Runs that differ in nothing but their seed. */
const cellKey = ({ settings, support }: PolicyRun): string =>
  JSON.stringify([{ ...settings, seed: 0 }, support?.sha256 ?? null]);

export function reportOf(runs: readonly PolicyRun[]): PolicyReport {
  const finished = runs.filter((run) => run.finished);
  const cells = grouped(finished, cellKey).flatMap((group): ReportCell[] => {
    const [first] = group;
    const success = meanInterval(group.flatMap(({ curve }) => curve.slice(-1).map(percentOf)));
    if (first === undefined || success === undefined) return [];
    const { task, method, updates, hidden, batch, gamma, bootstrapAtDone } = first.settings;
    const source = first.support?.source;
    return [
      {
        ...{ task, method, source, updates, batch, gamma, bootstrapAtDone, success, runs: group },
        width: hidden,
        observer: first.support?.observer,
        published: publishedPercent(method, task, source),
      },
    ];
  });
  const order = (cell: ReportCell): string =>
    `${cell.task} ${String(methodNames.indexOf(cell.method)).padStart(2, "0")} ${cell.source ?? ""}`;
  cells.sort((a, b) => order(a).localeCompare(order(b)) || a.updates - b.updates);
  return { cells, fiveTasks: meansOfFive(cells), unfinished: runs.length - finished.length };
}

function meansOfFive(cells: readonly ReportCell[]): FiveTasks[] {
  const key = (cell: ReportCell): string => JSON.stringify([cell.method, cell.source ?? null, cell.updates]);
  return grouped(cells, key).flatMap((group): FiveTasks[] => {
    // Of several supports or settings of a task, the one with most seeds stands for it.
    const best = policyTasks.flatMap((task) =>
      group
        .filter((cell) => cell.task === task)
        .sort((a, b) => b.success.count - a.success.count)
        .slice(0, 1),
    );
    const [first] = best;
    if (first === undefined || best.length < policyTasks.length) return [];
    const { method, source, updates } = first;
    return [
      {
        ...{ method, source, updates },
        mean: best.reduce((sum, cell) => sum + cell.success.mean, 0) / best.length,
        seeds: Math.min(...best.map((cell) => cell.success.count)),
        published: publishedPercent(method, undefined, source),
      },
    ];
  });
}
