/** What a function of the controller sees: its arguments, its thread, and the robot. */
import { ScriptError } from "./errors.js";
import type { Program } from "./program.js";
import { typeName, type Value } from "./values.js";

export type { Program };

/** The part of a thread that functions and compiled code touch. */
export interface Thread {
  readonly id: number;
  readonly program: Program;
  /** Depth of critical sections: while above zero no other thread runs. */
  critical: number;
  line: number;
  /** Statements since the last control step. */
  statements: number;
}

export type Builtin =
  | {
      readonly waits: false;
      readonly parameters: readonly string[];
      readonly required: number;
      readonly call: (args: Args, thread: Thread) => Value;
    }
  | {
      readonly waits: true;
      readonly parameters: readonly string[];
      readonly required: number;
      readonly call: (args: Args, thread: Thread) => Generator<undefined, Value>;
    };

export type BuiltinTable = ReadonlyMap<string, Builtin>;

/** Arguments by name, with the type errors of the language. */
export class Args {
  constructor(
    private readonly call: string,
    private readonly values: ReadonlyMap<string, Value>,
    private readonly line: number,
    private readonly column: number,
  ) {}

  error(text: string): ScriptError {
    return new ScriptError(this.line, this.column, `${this.call}: ${text}`);
  }
  has(name: string): boolean {
    return this.values.has(name);
  }
  any(name: string): Value {
    return this.values.get(name);
  }
  private wrong(name: string, wanted: string): ScriptError {
    return this.error(`type_error: ${name} is a ${typeName(this.values.get(name))}, ${wanted} expected`);
  }
  number(name: string, fallback?: number): number {
    const value = this.values.get(name);
    if (typeof value === "number") return value;
    if (value === undefined && fallback !== undefined) return fallback;
    throw this.wrong(name, "a number");
  }
  integer(name: string, fallback?: number): number {
    return Math.trunc(this.number(name, fallback));
  }
  boolean(name: string, fallback?: boolean): boolean {
    const value = this.values.get(name);
    if (typeof value === "boolean") return value;
    if (value === undefined && fallback !== undefined) return fallback;
    throw this.wrong(name, "a boolean");
  }
  text(name: string, fallback?: string): string {
    const value = this.values.get(name);
    if (typeof value === "string") return value;
    if (value === undefined && fallback !== undefined) return fallback;
    throw this.wrong(name, "a string");
  }
  /** Numbers of a list or a pose. */
  numbers(name: string, count?: number): number[] {
    const value = this.values.get(name);
    if (typeof value !== "object" || value.kind === "struct") throw this.wrong(name, "a list of numbers");
    const numbers = value.items.map((item) => {
      if (typeof item !== "number") throw this.wrong(name, "a list of numbers");
      return item;
    });
    if (count !== undefined && numbers.length !== count) {
      throw this.error(`${name} has ${numbers.length} elements, ${count} expected`);
    }
    return numbers;
  }
  pose(name: string): number[] {
    const value = this.values.get(name);
    if (typeof value !== "object" || value.kind !== "pose") throw this.wrong(name, "a pose");
    return [...value.items];
  }
  isPose(name: string): boolean {
    const value = this.values.get(name);
    return typeof value === "object" && value.kind === "pose";
  }
}

const split = (signature: string): { parameters: string[]; required: number } => {
  const parts = signature
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  return {
    parameters: parts.map((part) => part.replace("?", "")),
    required: parts.filter((part) => !part.endsWith("?")).length,
  };
};

/** A function that returns at once; `signature` lists parameters: `?` marks those that may be left out, `*` takes any. */
export const instant = (signature: string, call: (args: Args, thread: Thread) => Value): Builtin => ({
  waits: false,
  ...split(signature),
  call,
});

/** A function that may take control steps. */
export const blocking = (
  signature: string,
  call: (args: Args, thread: Thread) => Generator<undefined, Value>,
): Builtin => ({ waits: true, ...split(signature), call });
