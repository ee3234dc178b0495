/**
 * Time. Control and freshness use the monotonic clock only (CLOCK_MONOTONIC, shared by all processes of the machine);
 * wall time is for display and file names.
 */
import { setTimeout as delay } from "node:timers/promises";
import { CellError } from "./errors.js";

/** Seconds of CLOCK_MONOTONIC; native code and the twin read the same clock. */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) * 1e-9;
}

export interface Clock {
  /** Monotonic seconds. */
  now(): number;
  /** Waits; rejects with LINK_ABORTED when the signal fires. */
  sleep(durationS: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: monotonicNow,
  async sleep(durationS, signal) {
    try {
      await delay(Math.max(0, durationS) * 1e3, undefined, signal ? { signal } : {});
    } catch (error) {
      throw new CellError("LINK_ABORTED", "a wait was cancelled", { cause: signal?.reason ?? error });
    }
  },
};

/**
 * Rejects with LINK_TIMEOUT unless `work` settles within `limitS`; the message names `what` and the elapsed time.
 * The work itself is told through the signal it was given by the caller; this only bounds the wait.
 */
export async function withDeadline<T>(work: Promise<T>, limitS: number, what: string): Promise<T> {
  const startS = monotonicNow();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new CellError("LINK_TIMEOUT", `${what}: nothing after ${(monotonicNow() - startS).toFixed(3)} s`),
      );
    }, limitS * 1e3);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
