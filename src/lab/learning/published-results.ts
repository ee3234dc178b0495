/**
 * Published success rates in percent (Phase-and-First-Arrival: primary comparison, NeedlePick mechanism, support sources),
 * for the report to stand beside ours. Values of different tables do not compare with each other.
 */
import type { MethodName } from "./methods.js";

export interface PublishedValue {
  readonly method: MethodName;
  /** Absent: mean of the five policy tasks. */
  readonly task?: string;
  /** Absent where no support was used. */
  readonly source?: string;
  readonly percent: number;
}

const needlePick = (method: MethodName, shaped: number, sparse: number): PublishedValue[] => [
  { method, task: "NeedlePick", source: "shaped", percent: shaped },
  { method, task: "NeedlePick", source: "sparse", percent: sparse },
];

export const publishedResults: readonly PublishedValue[] = [
  { method: "phase-arrival", source: "shaped", percent: 75.2 },
  { method: "oracle", source: "shaped", percent: 88.6 },
  { method: "sparse", percent: 12.3 },
  { method: "sparse", task: "NeedlePick", percent: 5.0 },
  ...needlePick("phase-arrival", 86.8, 74.0),
  ...needlePick("uniform-bc", 30.2, 26.4),
  ...needlePick("phase-bc", 50.4, 42.0),
  ...needlePick("sac-bc", 62.8, 54.4),
  ...needlePick("reward-only", 12.6, 9.8),
  ...needlePick("direct-phase", 56.2, 51.8),
];

/** The five tasks of the published policy track. */
export const policyTasks = ["BlockPick", "NeedlePick", "PegTransfer", "ShuntInsert", "GauzePull"] as const;

export const publishedPercent = (
  method: MethodName,
  task: string | undefined,
  source: string | undefined,
): number | undefined =>
  publishedResults.find((value) => value.method === method && value.task === task && value.source === source)
    ?.percent;
