/** The guardian's log: one JSON line for each thing it did, kept beside the recordings. */
import { readFile } from "node:fs/promises";

export interface GuardianLine {
  readonly event: string;
  readonly monotonicS: number;
  readonly [field: string]: unknown;
}

/** Its lines in order; none when the file is not there. A line that its end cut off is left out. */
export async function readGuardianLog(file: string): Promise<readonly GuardianLine[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  });
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as GuardianLine);
}

/** When it stopped the devices, monotonic s. */
export const actsOf = (lines: readonly GuardianLine[]): number[] =>
  lines.filter(({ event }) => event === "triggered").map(({ monotonicS }) => monotonicS);
