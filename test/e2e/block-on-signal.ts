/** Loaded into a daemon by `node --import`: upon SIGUSR2 its event loop is blocked, for ten seconds unless told otherwise. */
import { writeSync } from "node:fs";
import { monotonicNow } from "../../src/base/clock.js";

export const blockS = Number(process.env["SURGICLAW_BLOCK_S"] ?? 10);
/** Written to standard error when the blocking begins, followed by the moment (monotonic s). */
export const blockedMark = "event loop blocked at";

process.on("SIGUSR2", () => {
  writeSync(2, `${blockedMark} ${monotonicNow()}\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockS * 1e3);
});
