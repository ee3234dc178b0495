/** Sends the control program to the controller, with the address and session that it is to connect back with. */
import { randomInt } from "node:crypto";
import { CellError } from "../../base/errors.js";
import { controlScript } from "./control-script.js";
import type { PrimaryClient } from "./primary-client.js";
import type { ReverseLink } from "./reverse-link.js";

/** How long the program waits for its first command, s. */
const firstTimeoutS = 2;

export interface ProgramAddress {
  /** The address that the controller sees us at, when left out. */
  readonly host: string | undefined;
  /** A free one, when left out. */
  readonly port: number | undefined;
  readonly stopDecelerationRadS2: number;
}

/** @throws CellError LINK_CLOSED without a connection to send it over, LINK_BUSY when the port is taken */
export async function launchProgram(
  primary: PrimaryClient,
  reverse: ReverseLink,
  { host = primary.localAddress ?? "127.0.0.1", port = 0, stopDecelerationRadS2 }: ProgramAddress,
): Promise<void> {
  const session = randomInt(1, 2 ** 31 - 1);
  const listening = await reverse.listen(host, port, session);
  const script = controlScript({ host, port: listening, session, firstTimeoutS, stopDecelerationRadS2 });
  if (!primary.sendProgram(script))
    throw new CellError("LINK_CLOSED", "UR: no connection for the control program");
}
