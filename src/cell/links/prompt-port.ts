/**
 * Makes an open serial port of node-serialport read and write without the thread pool. Its descriptor does not block, so
 * neither call waits; passing each through the pool costs two changes of thread in every exchange with a device, and a read
 * still under way in a pool thread outlives the closing of its descriptor.
 */
import { readSync, writeSync } from "node:fs";

/** What an open port of a POSIX system has, beyond the interface that all systems share. */
interface PosixPort {
  fd: number | null;
  readonly poller: {
    once(event: "readable", heard: (error: Error | null) => void): unknown;
    /** Whoever waits hears of an error. */
    stop(): void;
  };
  read(buffer: Buffer, offset: number, length: number): Promise<{ buffer: Buffer; bytesRead: number }>;
  write(buffer: Buffer): Promise<void>;
}

const isPosix = (port: object): port is PosixPort =>
  "fd" in port && typeof port.fd === "number" && "poller" in port && "read" in port && "write" in port;

/** The result of a call, or undefined where it has to be made again by who can wait, or who can tell why it fails. */
function tried(call: () => number): number | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** What can be done with an open port beyond its stream. */
export interface PromptPort {
  readonly descriptor: number | undefined;
  /** From now until `release` nothing is read: another reader has the line. */
  hold(): void;
  release(): void;
}

/** @returns undefined where the port is of another kind, which stays as it is */
export function makePrompt(port: object): PromptPort | undefined {
  if (!isPosix(port)) return undefined;
  const slow = { read: port.read.bind(port), write: port.write.bind(port) };
  let held: Promise<void> | undefined;
  let free = (): void => undefined;
  const readable = (): Promise<void> =>
    new Promise((resolve, reject) => {
      port.poller.once("readable", (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  port.read = async (buffer, offset, length) => {
    do {
      await held;
      await readable().catch((error: unknown) => {
        if (held === undefined) throw error;
      });
    } while (held !== undefined);
    const { fd } = port;
    const bytesRead = fd === null ? undefined : tried(() => readSync(fd, buffer, offset, length, null));
    return bytesRead === undefined || bytesRead === 0
      ? slow.read(buffer, offset, length)
      : { buffer, bytesRead };
  };
  port.write = async (buffer) => {
    const { fd } = port;
    const written = (fd === null ? undefined : tried(() => writeSync(fd, buffer))) ?? 0;
    if (written < buffer.length || buffer.length === 0) await slow.write(buffer.subarray(written));
  };
  return {
    get descriptor() {
      return port.fd ?? undefined;
    },
    hold() {
      if (held !== undefined) return;
      held = new Promise((resolve) => {
        free = resolve;
      });
      port.poller.stop();
    },
    release() {
      held = undefined;
      free();
    },
  };
}
