/** Starting the twin as the process it is. The command line never imports it. */
import { existsSync } from "node:fs";
import { CellError } from "../../base/errors.js";
import { programFile, type Child, type Children } from "./children.js";
import { callTwin } from "./twin-client.js";
import { twinSockets, type TwinPlace } from "./twin-place.js";

export interface TwinChoice {
  readonly seed: number;
  /** Name of a scenario that ships, or a path. */
  readonly scenario: string;
}

/** The twin's own arguments. */
export function twinArguments(place: TwinPlace, choice: TwinChoice): string[] {
  return [
    ...["--seed", String(choice.seed)],
    ...["--scenario", choice.scenario],
    ...["--host", place.host],
    ...["--camera1", place.cameras[0]],
    ...["--camera2", place.cameras[1]],
    ...["--folder", place.folder],
  ];
}

/** Resolves once the twin answers at its control socket, which it opens last. */
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
  const child = children.startNode("twin", file, twinArguments(place, choice), {
    log,
    withDescendants: true,
  });
  const { control } = twinSockets(place.folder);
  const answers = async (): Promise<true | undefined> => {
    if (!existsSync(control.slice("ipc://".length))) return undefined;
    return callTwin(control, "status", {}, 2).then(
      () => true as const,
      () => undefined,
    );
  };
  await children.until(child, answers, 60, signal);
  return child;
}
