/** Starting the twin as the process it is. The command line never imports it. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { CellError } from "../../base/errors.js";
import { programFile, type Child, type Children } from "./children.js";
import type { TwinPlace } from "./twin-place.js";

export interface TwinChoice {
  readonly seed: number;
  /** Name of a scenario that ships, or a path. */
  readonly scenario: string;
}

/** The twin's own arguments. */
export function twinArguments(place: TwinPlace, choice: TwinChoice): string[] {
  const { scenario, seed } = choice;
  const cameras = place.cameras.map((address, index) => ({ serial: `MIC${index + 1}`, address }));
  return [
    ...["--folder", place.folder],
    ...["--seed", String(seed)],
    ...["--scenario", /[/.]/.test(scenario) ? path.resolve(scenario) : scenario],
    ...["--place", JSON.stringify({ host: place.host, cameras })],
  ];
}

/** Resolves once the twin says that all its links are served. */
export async function startTwin(
  children: Children,
  place: TwinPlace,
  choice: TwinChoice,
  log: string,
  signal: AbortSignal,
): Promise<Child> {
  const file = programFile("twin", "main.js");
  if (!existsSync(file))
    throw new CellError("INTERNAL", `${file} is missing`, { remedy: "run npm run setup" });
  const options = { log, withDescendants: true, tied: true };
  const before = (await readFile(log, "utf8").catch(() => "")).length;
  const child = children.startNode("twin", file, twinArguments(place, choice), options);
  const ready = async (): Promise<true | undefined> => {
    const said = (await readFile(log, "utf8").catch(() => "")).slice(before);
    return /^\{"ready":true/m.test(said) ? true : undefined;
  };
  await children.until(child, ready, 60, signal);
  return child;
}
