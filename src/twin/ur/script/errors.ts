/** What a program can die of; the text goes to the primary stream as a runtime exception. */
export class ScriptError extends Error {
  override readonly name = "ScriptError";

  constructor(
    readonly line: number,
    readonly column: number,
    readonly text: string,
  ) {
    super(`line ${line}, column ${column}: ${text}`);
  }
}

/** `halt`: the program ends, or a thread that kills itself, without an error. */
export class Halt extends Error {
  override readonly name = "Halt";

  constructor(readonly scope: "program" | "thread") {
    super(`the ${scope} ends`);
  }
}
