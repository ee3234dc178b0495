/** Socket files of ipc endpoints: their folder, a living owner, their permissions. */
import { chmod, mkdir, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { CellError } from "../../base/errors.js";

/** The kernel's limit on the path of a unix socket. */
const longestPath = 107;

/** @throws CellError CONFIG_INVALID when the endpoint cannot be a socket file */
export function socketFile(endpoint: string): string {
  const file = endpoint.startsWith("ipc://") ? endpoint.slice("ipc://".length) : "";
  if (!path.isAbsolute(file))
    throw new CellError("CONFIG_INVALID", `${endpoint}: expected ipc:// and a path`);
  if (Buffer.byteLength(file) > longestPath) {
    throw new CellError(
      "CONFIG_INVALID",
      `${endpoint}: longer than the ${longestPath} bytes a socket may have`,
      {
        remedy: "choose a shorter path, for example under /run or /tmp",
      },
    );
  }
  return file;
}

/** True when a process accepts connections at the socket file. */
async function isAlive(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(file);
    const settle = (alive: boolean): void => {
      socket.destroy();
      resolve(alive);
    };
    socket.setTimeout(500, () => settle(true));
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

/**
 * Makes the folder and removes a socket file that a dead process left. ZeroMQ would silently take over a living one.
 * @throws CellError LINK_BUSY when another process listens there
 */
export async function prepareSocketFile(endpoint: string): Promise<string> {
  const file = socketFile(endpoint);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o750 });
  const present = await stat(file).catch(() => undefined);
  if (present !== undefined) {
    if (!present.isSocket()) {
      throw new CellError("CONFIG_INVALID", `${file} exists and is no socket`, {
        remedy: "name another path for the command socket",
      });
    }
    if (await isAlive(file)) {
      throw new CellError("LINK_BUSY", `another process serves ${endpoint}`, {
        remedy: "stop the other daemon, or give this one another command.endpoint",
      });
    }
    await rm(file, { force: true });
  }
  return file;
}

/** Octal text of the configuration (`0660`) onto the file. */
export async function permit(file: string, mode: string): Promise<void> {
  await chmod(file, Number.parseInt(mode, 8));
}
