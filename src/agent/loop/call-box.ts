/** Where the loop waits for a person: rung by whatever a person or the end of the run brings. */
import type { Clock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";

export class CallBox {
  private wake: (() => void) | undefined;

  ring(): void {
    this.wake?.();
  }

  /** Resolves with the next ring. */
  rung(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }

  /** False when nobody rang within the limit; without one it waits for ever. */
  async rungWithin(limitS: number | undefined, clock: Clock): Promise<boolean> {
    if (limitS === undefined) {
      await this.rung();
      return true;
    }
    const enough = new AbortController();
    const late = clock
      .sleep(limitS, enough.signal)
      .then(() => false)
      .catch(() => true);
    const came = await Promise.race([this.rung().then(() => true), late]);
    enough.abort(new CellError("LINK_ABORTED", "somebody came"));
    return came;
  }
}
