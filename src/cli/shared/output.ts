/** What goes to the terminal: colour only where a person looks, JSON for programs, tables. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** Colour on a terminal only; NO_COLOR switches it off everywhere. */
export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  const [on, off] = codes[style];
  const wanted = stream.isTTY && process.env["NO_COLOR"] === undefined && process.env["TERM"] !== "dumb";
  return wanted ? `\u001b[${on}m${text}\u001b[${off}m` : text;
}

export const print = (line = ""): void => void process.stdout.write(`${line}\n`);
export const printJson = (value: unknown): void => print(JSON.stringify(value));
export const warn = (line: string): void => void process.stderr.write(`${line}\n`);

/** Columns as wide as their widest cell; numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const numeric = head.map((_, column) =>
    rows.every((row) => /^(-|[-+]?[\d.]+( .{1,4})?)?$/.test(row[column] ?? "")),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return numeric[column] === true ? text.padStart(width) : text.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [paint("bold", line(head)), ...rows.map(line)].join("\n");
}

/** Text from a model or a file as one printable line: no control characters reach the terminal. */
export function oneLine(text: string, longest = 400): string {
  const clean = text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\p{Cc}/gu, "")
    .trim();
  return clean.length > longest ? `${clean.slice(0, longest - 3)}...` : clean;
}
