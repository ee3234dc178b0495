/**
 * Labels of recorded trials as text, one interval a line:
 *
 *   start end Primitive(argument, argument)     motion primitives
 *   start end S1 True                           gestures with a flag of success
 *   start end G1                                gestures
 *
 * Frames, both ends included.
 */
import { CellError } from "../../../base/errors.js";

export interface LabelInterval {
  readonly start: number;
  readonly end: number;
  readonly name: string;
  readonly arguments: readonly string[];
  /** Of gestures that carry the flag. */
  readonly succeeded?: boolean;
}

const form = /^(\d+)\s+(\d+)\s+([A-Za-z]\w*)(?:\(([^()]*)\))?(?:\s+(True|False))?\s*$/;

/** Every line of the file, in its order. @throws CellError PHASE_FILE_INVALID naming the line */
export function parseIntervals(file: string, text: string): LabelInterval[] {
  const intervals: LabelInterval[] = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "") return;
    const match = form.exec(line.trim());
    const [, start, end, name, list, flag] = match ?? [];
    if (start === undefined || end === undefined || name === undefined || Number(end) < Number(start)) {
      throw new CellError("PHASE_FILE_INVALID", `${file}:${index + 1}: no interval: ${line.slice(0, 80)}`);
    }
    const interval = {
      start: Number(start),
      end: Number(end),
      name,
      arguments: list === undefined ? [] : list.split(",").map((argument) => argument.trim()),
      ...(flag === undefined ? {} : { succeeded: flag === "True" }),
    };
    if (interval.start < (intervals.at(-1)?.start ?? 0)) {
      throw new CellError("PHASE_FILE_INVALID", `${file}:${index + 1}: begins before the line above`);
    }
    intervals.push(interval);
  });
  if (intervals.length === 0) throw new CellError("PHASE_FILE_INVALID", `${file}: holds no interval`);
  return intervals;
}
