/** The figures of a reliability report in words, each beside the published range: one list for terminal and page. */
import { publishedObserver, type PublishedRange } from "./published.js";
import type { Share } from "../../evaluation/statistics.js";
import type { Reliability } from "./reliability.js";

export interface Figure {
  readonly name: string;
  readonly value: string;
  /** Of shares. */
  readonly interval: string;
  readonly published: string;
  readonly share?: Share;
  readonly range?: PublishedRange;
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

function shareFigure(name: string, share: Share, range?: PublishedRange): Figure {
  return {
    name,
    value: share.share === null ? "-" : `${percent(share.share)} (${share.count}/${share.of})`,
    interval: share.interval === null ? "" : `${percent(share.interval[0])} to ${percent(share.interval[1])}`,
    published: range === undefined ? "" : `${percent(range.low)} to ${percent(range.high)}`,
    share,
    ...(range === undefined ? {} : { range }),
  };
}

function stepsFigure(name: string, value: number | null, of: number, range?: PublishedRange): Figure {
  return {
    name,
    value: value === null ? "-" : `${value.toFixed(1)} steps (${of} episodes)`,
    interval: "",
    published: range === undefined ? "" : `${range.low} to ${range.high} steps`,
  };
}

export function figures(report: Reliability): Figure[] {
  const { valid, gated, exact, withinOne, arrivalMae } = publishedObserver;
  return [
    shareFigure("asked, of the pool", report.asked),
    shareFigure("valid, of the replies", report.valid, valid),
    shareFigure("kept by the gate, of the replies", report.gated, gated),
    shareFigure("exact phase, of the valid", report.exact, exact),
    shareFigure("within one label", report.withinOneLabel, withinOne),
    shareFigure("within one rank", report.withinOneRank, withinOne),
    stepsFigure("arrival error, furthest phase", report.arrivalMae, report.arrivalCompared, arrivalMae),
    stepsFigure("arrival error, phase as named", report.arrivalOfNamedMae, report.arrivalOfNamedCompared),
    shareFigure("true arrival inside the bracket", report.insideBracket),
  ];
}
