/** The stop, on every connection at once: whichever is alive carries it, and a second stop does no harm. */
import { asCellError, CellError } from "../../base/errors.js";
import { describeCode } from "./codec/codes.js";
import { integerField } from "./codec/framing.js";
import type { KohzuLink, StageCommand } from "./kohzu-link.js";

/** Stop requests that are repeated because the controller was just then busy with another one. */
const attempts = 3;

/** Answers that mean the axis stops or stands: 323, it is stopping already. */
const stopping = new Set([0, 323]);

/**
 * @param timeoutS deadline of each stop
 * @throws CellError LINK_CLOSED, LINK_TIMEOUT, DEVICE_REFUSED when no connection took it
 */
export async function stopEverything(
  device: string,
  connections: readonly (KohzuLink | undefined)[],
  commands: readonly StageCommand[],
  timeoutS: number,
): Promise<void> {
  const links = connections.filter((link) => link !== undefined).filter((link) => link.isOpen);
  if (links.length === 0) throw new CellError("LINK_CLOSED", `${device}: no connection to stop it through`);
  let failure: CellError | undefined;
  for (const command of commands) {
    const result = await stopOnce(device, links, command, timeoutS);
    failure ??= result;
  }
  if (failure) throw failure;
}

async function stopOnce(
  device: string,
  links: readonly KohzuLink[],
  command: StageCommand,
  timeoutS: number,
): Promise<CellError | undefined> {
  let failure: CellError | undefined;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const results = await Promise.allSettled(links.map((link) => link.stopNow(command, timeoutS)));
    for (const result of results) {
      if (result.status === "rejected") {
        failure = asCellError(result.reason);
        continue;
      }
      const code = result.value.kind === "E" ? integerField(result.value, 0) : 0;
      if (stopping.has(code)) return undefined;
      // 803 among others: the controller still owed a reply, so once more.
      const what = `${command.name}${command.parameters.join("/")}: ${describeCode(code)}`;
      failure = new CellError("DEVICE_REFUSED", `${device}: ${what}`);
    }
  }
  return failure;
}
