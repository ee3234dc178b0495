/** Bytes of a program after which its sender is taken to be none. */
const longest = 1 << 22;

/**
 * Cuts the text that arrives on a script port into programs: from `def` or `sec` in column 1 to `end` in column 1, or a
 * single line of its own. A program split over many segments waits for its end.
 */
export class ScriptText {
  private rest = "";
  private open: string[] | undefined;
  private openLength = 0;

  /** @throws RangeError when a program never ends. */
  push(chunk: string): string[] {
    const lines = (this.rest + chunk).split("\n");
    this.rest = lines.pop() ?? "";
    const programs: string[] = [];
    this.openLength = this.open ? this.openLength + chunk.length : 0;
    if (this.rest.length + this.openLength > longest)
      throw new RangeError(`a program of more than ${longest} bytes`);
    for (const raw of lines) {
      const line = raw.replace(/\r$/, "");
      if (this.open) {
        this.open.push(line);
        if (/^end\b/.test(line)) {
          programs.push(this.open.join("\n"));
          this.open = undefined;
        }
      } else if (/^(def|sec)\s/.test(line)) this.open = [line];
      else if (line.trim() !== "" && !line.trim().startsWith("#")) programs.push(line);
    }
    return programs;
  }
}
