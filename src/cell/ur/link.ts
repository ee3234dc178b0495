/** Opening TCP connections with a deadline and an abort, and waiting for conditions. */
import { connect, type Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { monotonicNow } from "../../base/clock.js";

/** What the driver reports while it runs; pino's logger fits. */
export interface Log {
  info(details: object, text: string): void;
  warn(details: object, text: string): void;
}
export const silent: Log = { info: () => undefined, warn: () => undefined };

/** @throws CellError LINK_CONNECT, LINK_ABORTED */
export function openSocket(
  host: string,
  port: number,
  limitS: number,
  what: string,
  signal?: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new CellError("LINK_ABORTED", `${what}: cancelled before connecting`));
      return;
    }
    const socket = connect({ host, port, noDelay: true, keepAlive: true });
    const fail = (error: CellError): void => {
      cleanUp();
      socket.on("error", () => undefined);
      socket.destroy();
      reject(error);
    };
    const onError = (error: Error): void => {
      fail(new CellError("LINK_CONNECT", `${what} at ${host}:${port}: ${error.message}`, { cause: error }));
    };
    const onAbort = (): void => {
      fail(new CellError("LINK_ABORTED", `${what}: connecting was cancelled`));
    };
    const timer = setTimeout(() => {
      fail(new CellError("LINK_CONNECT", `${what} at ${host}:${port}: no connection after ${limitS} s`));
    }, limitS * 1e3);
    const cleanUp = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      socket.removeListener("error", onError);
    };
    socket.once("error", onError);
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => {
      cleanUp();
      resolve(socket);
    });
  });
}

/**
 * A condition that somebody announces by `check()`: waits are woken by events, not by polling. Every wait has a deadline
 * and may have an abort.
 */
export class Condition {
  private readonly waiting = new Set<() => void>();

  /** Re-evaluates every wait. */
  check(): void {
    for (const evaluate of [...this.waiting]) evaluate();
  }

  /**
   * Waits until `ready` returns something; `ready` may throw to end the wait.
   * @throws CellError LINK_TIMEOUT naming `what`, LINK_ABORTED
   */
  until<T>(ready: () => T | undefined, limitS: number, what: string, signal?: AbortSignal): Promise<T> {
    const startS = monotonicNow();
    const cancelled = (): CellError =>
      new CellError("LINK_ABORTED", `${what}: cancelled`, { cause: signal?.reason });
    if (signal?.aborted) return Promise.reject(cancelled());
    return new Promise<T>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.waiting.delete(evaluate);
        signal?.removeEventListener("abort", onAbort);
      };
      const fail = (error: unknown): void => {
        end();
        reject(error instanceof Error ? error : new CellError("INTERNAL", String(error)));
      };
      const evaluate = (): void => {
        try {
          const value = ready();
          if (value === undefined) return;
          end();
          resolve(value);
        } catch (error) {
          fail(error);
        }
      };
      const onAbort = (): void => {
        fail(cancelled());
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const timer = setTimeout(() => {
        const elapsed = (monotonicNow() - startS).toFixed(2);
        fail(new CellError("LINK_TIMEOUT", `${what}: not after ${elapsed} s`));
      }, limitS * 1e3);
      this.waiting.add(evaluate);
      evaluate();
    });
  }
}
