/**
 * Cuts the text that arrives on a script port into programs: from `def` or `sec` in column 1 to `end` in column 1, or a
 * single line of its own. A program split over many segments waits for its end.
 */
export class ScriptText {
  private rest = "";
  private open: string[] | undefined;

  push(chunk: string): string[] {
    const lines = (this.rest + chunk).split("\n");
    this.rest = lines.pop() ?? "";
    const programs: string[] = [];
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
