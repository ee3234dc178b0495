/** Variables while a script runs. */
import type { Thread } from "./builtin.js";
import type { Value } from "./values.js";

/** Variables of one activation; `parent` is the enclosing routine's (lexical), the root holds the globals. */
export class Frame {
  readonly variables = new Map<string, Value>();
  readonly depth: number;
  result: Value;

  constructor(
    readonly thread: Thread,
    readonly parent: Frame | undefined,
  ) {
    this.depth = parent ? parent.depth + 1 : 0;
  }

  holder(name: string): Frame | undefined {
    if (this.variables.has(name)) return this;
    return this.parent?.holder(name);
  }
  root(): Frame {
    return this.parent ? this.parent.root() : this;
  }
  /** The enclosing activation of a routine declared at `depth`, as seen by `thread`. */
  ancestor(depth: number): Frame {
    return this.depth <= depth || !this.parent ? this : this.parent.ancestor(depth);
  }
}
