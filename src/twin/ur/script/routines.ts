/** Routines as compiled, and which names are known where. */
import type { Routine, Statement } from "./ast.js";
import { run, type Code, type Wait } from "./code.js";
import type { Frame } from "./frame.js";
import type { Value } from "./values.js";

/** How a statement ended. */
export type Outcome = "next" | "break" | "continue" | "return";

export interface CompiledRoutine {
  readonly routine: Routine;
  /** Depth of the activation it is declared in. */
  readonly depth: number;
  body: Code<Outcome>;
  readonly defaults: Map<string, Code<Value>>;
}

/** Starts a routine: its body as a generator in a fresh activation. */
export function* activate(compiled: CompiledRoutine, frame: Frame): Wait<Value> {
  yield* run(compiled.body, frame);
  return frame.result;
}

/** What names mean in one routine, seen from inside. */
export interface Environment {
  readonly routines: Map<string, CompiledRoutine>;
  readonly names: Set<string>;
  readonly parent: Environment | undefined;
  readonly depth: number;
}

export function findRoutine(name: string, environment: Environment | undefined): CompiledRoutine | undefined {
  if (!environment) return undefined;
  return environment.routines.get(name) ?? findRoutine(name, environment.parent);
}

export function isKnown(
  name: string,
  environment: Environment | undefined,
  globals: ReadonlySet<string>,
): boolean {
  if (!environment) return globals.has(name);
  return environment.names.has(name) || isKnown(name, environment.parent, globals);
}

/** Names that a program declares global anywhere. */
export function globalsOf(body: readonly Statement[], found = new Set<string>()): Set<string> {
  for (const statement of body) {
    if (statement.kind === "assign" && statement.scope === "global") found.add(statement.target.name);
    else if (statement.kind === "if") {
      for (const branch of statement.branches) globalsOf(branch.body, found);
      globalsOf(statement.otherwise, found);
    } else if (statement.kind === "while") globalsOf(statement.body, found);
    else if (statement.kind === "routine") globalsOf(statement.routine.body, found);
  }
  return found;
}

/** Names that a routine assigns itself, without those of routines inside it. */
export function assignedIn(body: readonly Statement[], found = new Set<string>()): Set<string> {
  for (const statement of body) {
    if (statement.kind === "assign") found.add(statement.target.name);
    else if (statement.kind === "if") {
      for (const branch of statement.branches) assignedIn(branch.body, found);
      assignedIn(statement.otherwise, found);
    } else if (statement.kind === "while") assignedIn(statement.body, found);
  }
  return found;
}
