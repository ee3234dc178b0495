/**
 * When a sample was true: the controller stamps with its own clock, and packets may wait in buffers. The smallest delay that
 * was seen is taken for none; the estimate may creep, since two quartzes differ.
 */

/** How fast the estimate of the clocks' offset may grow, s/s: more than quartz drifts, less than hides a delay. */
const offsetCreep = 1e-3;

export class ControllerClock {
  private offsetS: number | undefined;
  private lastS = 0;

  /**
   * Monotonic time at which it was `timestampS` on the controller, as near as it is known.
   * @param nowS monotonic time at which the sample came
   */
  measuredS(timestampS: number, nowS: number): number {
    const offset = nowS - timestampS;
    const creptS = this.offsetS === undefined ? offset : this.offsetS + offsetCreep * (nowS - this.lastS);
    this.offsetS = Math.min(creptS, offset);
    this.lastS = nowS;
    return timestampS + this.offsetS;
  }

  /** Another connection, perhaps to a controller that was restarted. */
  forget(): void {
    this.offsetS = undefined;
  }
}
