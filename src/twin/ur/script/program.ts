/** A running program: its threads, stepped once per control cycle, and what belongs to it (sockets, watchdogs). */
import type { Routine } from "./ast.js";
import type { BuiltinTable, Thread } from "./builtin.js";
import type { Wait } from "./code.js";
import { compile } from "./compile.js";
import { Frame } from "./frame.js";
import { activate, type CompiledRoutine } from "./routines.js";
import { Halt, ScriptError } from "./errors.js";
import { show, type Value } from "./values.js";

interface RunningThread extends Thread {
  readonly code: Wait<Value>;
  alive: boolean;
}

export type ProgramEnd =
  | { readonly kind: "finished" }
  | { readonly kind: "killed" }
  | { readonly kind: "error"; readonly error: ScriptError };

export class Program {
  readonly name: string;
  readonly secondary: boolean;
  /** Run once when the program ends, however it ends. */
  readonly cleanUps: (() => void)[] = [];
  private readonly threads: RunningThread[] = [];
  private nextId = 1;
  private end: ProgramEnd | undefined;
  private stepping = false;
  private killWanted = false;

  /** @throws ScriptError on a compile error; nothing has run then. */
  constructor(routine: Routine, builtins: BuiltinTable) {
    this.name = routine.name;
    this.secondary = routine.kind === "sec";
    this.startThread(compile(routine, builtins), undefined, new Map());
  }

  /** Where its main thread is. */
  get line(): number {
    return this.threads[0]?.line ?? 0;
  }
  get ended(): ProgramEnd | undefined {
    return this.end;
  }

  startThread(
    routine: CompiledRoutine,
    parent: Frame | undefined,
    bound: ReadonlyMap<string, Value>,
  ): number {
    const id = this.nextId++;
    const thread = { id, program: this, critical: 0, line: routine.routine.line, statements: 0, alive: true };
    const frame = new Frame(thread, parent);
    for (const [name, value] of bound) frame.variables.set(name, value);
    this.threads.push(Object.assign(thread, { code: activate(routine, frame) }));
    return id;
  }

  isAlive(handle: Value): boolean {
    return this.threads.some((thread) => thread.id === handle && thread.alive);
  }

  killThread(handle: Value, by: Thread): void {
    const thread = this.threads.find((candidate) => candidate.id === handle);
    if (!thread) {
      if (handle === 0) return;
      throw new ScriptError(by.line, 1, `kill: no thread ${show(handle)}`);
    }
    if (thread.id === by.id) throw new Halt("thread");
    this.finish(thread);
  }

  private finish(thread: RunningThread): void {
    if (!thread.alive) return;
    thread.alive = false;
    // Runs the finally clauses of whatever the thread was waiting in.
    thread.code.return(undefined);
    const at = this.threads.indexOf(thread);
    if (at >= 0) this.threads.splice(at, 1);
  }

  /** Gives every thread its share of one control step. */
  step(): ProgramEnd | undefined {
    this.stepping = true;
    const inside = this.threads.find((thread) => thread.critical > 0);
    for (const thread of inside ? [inside] : [...this.threads]) {
      if (this.end || this.killWanted) break;
      if (!thread.alive) continue;
      this.resume(thread);
      if (thread.alive && thread.critical > 0) break;
    }
    this.stepping = false;
    if (this.killWanted) this.stop({ kind: "killed" });
    return this.end;
  }

  private resume(thread: RunningThread): void {
    thread.statements = 0;
    try {
      if (thread.code.next().done !== true) return;
      this.finish(thread);
      if (thread.id === 1) this.stop({ kind: "finished" });
    } catch (error) {
      if (error instanceof Halt && error.scope === "thread" && thread.id !== 1) this.finish(thread);
      else if (error instanceof Halt) this.stop({ kind: "finished" });
      else if (error instanceof ScriptError) this.stop({ kind: "error", error });
      else throw error;
    }
  }

  /** Ends the program; asked for from within one of its own threads, as soon as that thread waits. */
  kill(): void {
    if (this.stepping) this.killWanted = true;
    else this.stop({ kind: "killed" });
  }

  private stop(end: ProgramEnd): void {
    if (this.end) return;
    this.end = end;
    for (const thread of [...this.threads]) this.finish(thread);
    for (const cleanUp of this.cleanUps.splice(0)) cleanUp();
  }
}
