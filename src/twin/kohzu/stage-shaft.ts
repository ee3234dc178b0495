/**
 * From the steps that a controller puts out to where the table stands: steps that the motor lost, hard stops, and the
 * play between screw and table. In steps from the nominal origin.
 */
import { placeOf, type Leg } from "./drive-plan.js";
import type { StageMechanics } from "./stage-mechanics.js";
import type { StageModel } from "./stage-models.js";

export class StageShaft {
  /** shaft = steps put out + slip: what was lost while the motor was not excited or the table stood against a hard stop. */
  private lost = 0;
  private frozenAt: number | undefined;
  private tableSteps: number;
  private readonly hardStopSteps: number;

  /** @param steps where the screw stands at power-up */
  constructor(
    model: StageModel,
    private readonly mechanics: StageMechanics,
    steps: number,
  ) {
    this.hardStopSteps = model.hardStop / model.step;
    this.tableSteps = mechanics.follow(steps - 1, steps);
  }

  get slip(): number {
    return this.lost;
  }

  get excited(): boolean {
    return this.frozenAt === undefined;
  }

  /** Steps at the motor's shaft for steps put out. */
  place(steps: number): number {
    const shaft = this.frozenAt ?? steps + this.lost;
    return Math.min(Math.max(shaft, -this.hardStopSteps), this.hardStopSteps);
  }

  /** Motor current on or off, with so many steps put out: without it the table does not follow. */
  excite(on: boolean, steps: number): void {
    if (on === this.excited) return;
    if (this.frozenAt === undefined) this.frozenAt = this.place(steps);
    else {
      this.lost = this.frozenAt - steps;
      this.frozenAt = undefined;
    }
  }

  /** The motor falls behind by so many steps. */
  loseSteps(count: number, steps: number): void {
    this.lost -= count;
    this.tableSteps = this.mechanics.follow(this.tableSteps, this.place(steps));
  }

  /** Where the table is after the whole legs before `index`, and `within` seconds of that one. Changes nothing. */
  tableAfter(legs: readonly Leg[], index: number, within: number): number {
    let table = this.tableSteps;
    for (const leg of legs.slice(0, index)) table = this.mechanics.follow(table, this.place(leg.to));
    const leg = legs[index];
    return leg === undefined ? table : this.mechanics.follow(table, this.place(placeOf(leg, within)));
  }

  get table(): number {
    return this.tableSteps;
  }

  /** The legs end here, with `steps` put out. */
  settle(legs: readonly Leg[], index: number, steps: number): void {
    const before = this.tableAfter(legs.slice(0, index), index, 0);
    this.tableSteps = this.mechanics.follow(before, this.place(steps));
    // Against the hard stop the screw's steps are lost for good.
    if (this.frozenAt === undefined) this.lost = this.place(steps) - steps;
  }
}
