/** Compiled code: an ordinary function where nothing can wait, else a generator that yields once per control step. */
import { ScriptError } from "./errors.js";
import type { Frame } from "./frame.js";
import type { Value } from "./values.js";

export type Wait<T> = Generator<undefined, T>;
export type Code<T> =
  | { readonly waits: false; readonly run: (frame: Frame) => T }
  | { readonly waits: true; readonly run: (frame: Frame) => Wait<T> };

export function* run<T>(code: Code<T>, frame: Frame): Wait<T> {
  return code.waits ? yield* code.run(frame) : code.run(frame);
}

/** `code`, then a function of its value. */
export function chain<A, B>(code: Code<A>, then: (value: A, frame: Frame) => B): Code<B> {
  if (!code.waits) return { waits: false, run: (frame) => then(code.run(frame), frame) };
  return {
    waits: true,
    *run(frame) {
      return then(yield* code.run(frame), frame);
    },
  };
}

/** All codes in order, then a function of their values. */
export function gather<B>(
  codes: readonly Code<Value>[],
  then: (values: Value[], frame: Frame) => B,
): Code<B> {
  if (codes.every((code) => !code.waits)) {
    return {
      waits: false,
      run: (frame) =>
        then(
          codes.map((code) => (code.waits ? undefined : code.run(frame))),
          frame,
        ),
    };
  }
  return {
    waits: true,
    *run(frame) {
      const values: Value[] = [];
      for (const code of codes) values.push(yield* run(code, frame));
      return then(values, frame);
    },
  };
}

/** Statements that one thread may execute in one control step before it counts as an infinite loop. */
const statementBudget = 200_000;

/** Counts a statement. @throws ScriptError in an infinite loop */
export function enter(frame: Frame, line: number): void {
  const { thread } = frame;
  thread.line = line;
  if (++thread.statements > statementBudget) {
    throw new ScriptError(line, 1, "runtime_too_much_behind: the program contains an infinite loop");
  }
}
