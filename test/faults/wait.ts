/** Waits for a state that a fault leads to; generous, since only its coming counts, not when. */
import { setTimeout as delay } from "node:timers/promises";
import { monotonicNow } from "../../src/base/clock.js";

export async function waitFor(ready: () => boolean, limitS = 15): Promise<void> {
  const untilS = monotonicNow() + limitS;
  while (!ready()) {
    if (monotonicNow() > untilS) throw new Error(`the awaited state did not come within ${limitS} s`);
    await delay(10);
  }
}
