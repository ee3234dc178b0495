/** Waiting for a daemon that a verb or a test started as a process of its own. */
import { asCellError } from "../../base/errors.js";
import type { CommandClient } from "../../service/command/client.js";
import type { CellStatus } from "../../service/command/protocol.js";
import type { Child, Children } from "./children.js";

/**
 * Opens the client as soon as the daemon serves its socket, and resolves with the status once it is ready.
 * @param waits told whenever what the daemon still waits for has changed
 * @throws CellError LINK_CONNECT when the daemon ends first, or at the deadline
 */
export async function untilReady(
  children: Children,
  daemon: Child,
  client: CommandClient,
  limitS: number,
  signal: AbortSignal,
  waits: (reason: string) => void = () => undefined,
): Promise<CellStatus> {
  let opened = false;
  let shown = "";
  const ready = async (): Promise<CellStatus | undefined> => {
    try {
      if (!opened) client.open();
      opened = true;
      const status = await client.call("status", {}, { timeoutS: 2 });
      if (status.ready) return status;
      if (status.reason !== shown) waits(status.reason);
      shown = status.reason;
    } catch (error) {
      // Its socket is not there yet, or it is still too busy to answer.
      if (asCellError(error).category !== "link") throw error;
    }
    return undefined;
  };
  return children.until(daemon, ready, limitS, signal);
}
