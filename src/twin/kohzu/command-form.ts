/** A command table as data: for each command its parameters with their ranges, and what it does. */
import type { CodeFamily } from "../../cell/kohzu/codec/codes.js";
import type { RequestFlaw } from "../../cell/kohzu/codec/framing.js";
import type { ControllerAxis } from "./controller-axis.js";
import type { StageMachine } from "./stage-machine.js";

/** What a command answers: data of a C reply, an error code, a warning, or nothing before the drives have ended. */
export type Answer =
  | { readonly data: readonly (string | number)[]; readonly stopped?: readonly ControllerAxis[] }
  | { readonly error: number }
  | { readonly warning: number }
  | {
      readonly complete: readonly ControllerAxis[];
      /** The code of the reply for the code that an axis ended with; the same unless given. */
      readonly codeOf?: (code: number) => number;
      readonly stopped?: readonly ControllerAxis[];
    };

export const done: Answer = { data: [] };

type Range = readonly [number, number];

export interface Form {
  /** Allowed numbers of parameters. */
  readonly counts: readonly number[];
  /** Lowest and highest value of each. */
  readonly ranges: readonly Range[];
  /** Which parameter is an axis that must exist (error 120); undefined for none. */
  readonly axisAt?: number | undefined;
  /** Drives anything: refused while the controller is locked. */
  readonly drives: boolean;
  readonly run: (values: readonly number[], now: number) => Answer;
}

/** A command whose parameters are no numbers. */
export interface TextForm {
  readonly counts: readonly number[];
  readonly runText: (parameters: readonly string[]) => Answer;
}

export type CommandTable = ReadonlyMap<string, Form | TextForm>;

/** How a dialect reads and answers. */
export interface Execution {
  readonly family: CodeFamily;
  readonly flawCodes: Readonly<Record<RequestFlaw, number>>;
  /** Whether spontaneous SYS lines exist. */
  readonly announces: boolean;
  /** @param owing a completed reply is still owed to this client */
  readonly execute: (command: string, parameters: readonly string[], now: number, owing: boolean) => Answer;
}

export const axisRange: Range = [1, 32];
export const tableRange: Range = [0, 9];
export const methodRange: Range = [0, 1];
export const anyNumber: Range = [-Infinity, Infinity];

export const form = (
  ranges: readonly Range[],
  run: Form["run"],
  more: Partial<Pick<Form, "counts" | "drives" | "axisAt">> = {},
): Form => ({ counts: [ranges.length], ranges, run, drives: false, ...more });

export const textForm = (counts: readonly number[], runText: TextForm["runText"]): TextForm => ({
  counts,
  runText,
});

/** Checks a request against its form, and runs it. The order of the checks is that of their codes. */
export function runForm(
  machine: StageMachine,
  found: Form | TextForm,
  parameters: readonly string[],
  now: number,
): Answer {
  if (!found.counts.includes(parameters.length)) return { error: 100 };
  if ("runText" in found) return found.runText(parameters);
  const values: number[] = [];
  for (const [index, text] of parameters.entries()) {
    const value = /^[+-]?\d{1,10}$/.test(text) ? Number(text) : NaN;
    const [low, high] = found.ranges[index] ?? [NaN, NaN];
    if (!(value >= low && value <= high)) return { error: 101 + index };
    values.push(value);
  }
  const axis = found.axisAt === undefined ? undefined : values[found.axisAt];
  if (axis !== undefined && axis > machine.axes.length) return { error: 120 };
  if (found.drives && machine.emergencyLock) return { error: 800 };
  if (found.drives && machine.linkLock) return { error: 802 };
  return found.run(values, now);
}
