/**
 * Whether a motion gets on: a range check says where an axis may be, not that it comes nearer. A needle that meets something
 * hard, slips, or goes the wrong way is inside its range all the time. Pure; positions and time come in from outside.
 */
export interface ProgressBounds {
  /** Towards the goal at least so much, m. */
  readonly leastM: number;
  /** within so long, s; a rest at a turning point comes on top. */
  readonly withinS: number;
  /** Planned rest at each turning point, s. */
  readonly restS: number;
  /** This near to a turning point counts as there, m. */
  readonly arrivalM: number;
}

export class MotionProgress {
  private leg = 0;
  private nearestM = Infinity;
  private sinceS: number;

  /** @param goalsM the turning points and the end, in order: for a stroke its depth, then where it withdraws to */
  constructor(
    private readonly goalsM: readonly number[],
    private readonly bounds: ProgressBounds,
    beganS: number,
  ) {
    this.sinceS = beganS;
  }

  /** What is wrong, or undefined. A position that is not finite says nothing, and so is no progress. */
  look(nowS: number, positionM: number): string | undefined {
    const { leastM, withinS, restS, arrivalM } = this.bounds;
    const goalM = this.goalsM[this.leg];
    if (goalM === undefined) return undefined;
    const awayM = Math.abs(goalM - positionM);
    if (awayM <= arrivalM) {
      this.turn(nowS + restS);
      return undefined;
    }
    if (awayM <= this.nearestM - leastM || (this.nearestM === Infinity && Number.isFinite(awayM))) {
      this.nearestM = awayM;
      this.sinceS = Math.max(this.sinceS, nowS);
      return undefined;
    }
    const what = this.leg === 0 ? "on its way" : "withdrawing";
    if (awayM > this.nearestM + 2 * leastM + arrivalM) {
      // It may have turned between two looks; whether it came deep enough is for the driver to say.
      if (this.leg + 1 < this.goalsM.length) {
        this.turn(nowS);
        return undefined;
      }
      return `${what} it moves away from its goal: ${micrometres(awayM)} µm left, ${micrometres(this.nearestM)} before`;
    }
    // Written so that a time that is no number counts as too long.
    if (!(nowS - this.sinceS <= withinS))
      return `${what} it made no progress for ${(nowS - this.sinceS).toFixed(2)} s, ${micrometres(awayM)} µm before its goal`;
    return undefined;
  }

  private turn(sinceS: number): void {
    this.leg++;
    this.nearestM = Infinity;
    this.sinceS = sinceS;
  }
}

const micrometres = (lengthM: number): string => (lengthM * 1e6).toFixed(0);
