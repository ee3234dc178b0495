/**
 * What the controller knows of the force on its tool: a wrench that the twin is told acts there (or, when a program asks for
 * it, the one that an RTDE client writes), less what it was when the sensor was zeroed.
 */
import { outOfFrame } from "./arm-compliance.js";
import type { Mat3 } from "../../base/transform.js";

/** Assumed: a force along the asked direction above this is a contact, N. */
const contactN = 5;

export class ForceSensor {
  /** N and N·m in the base frame, as pushed by whoever stands beside the arm. */
  acting: readonly number[] = [0, 0, 0, 0, 0, 0];
  /** RTDE's `external_force_torque` counts instead of the sensor. */
  fromClients = false;

  private zero: readonly number[] = [0, 0, 0, 0, 0, 0];
  private total: readonly number[] = [0, 0, 0, 0, 0, 0];
  private readonly history: (readonly number[])[] = [];

  /** Force and torque on the tool now, in the base frame. */
  get wrench(): readonly number[] {
    return this.total.map((value, i) => value - (this.zero[i] ?? 0));
  }
  /** N. */
  get force(): number {
    return Math.hypot(...this.wrench.slice(0, 3));
  }

  /** @param written what clients wrote, in the flange's orientation. */
  step(written: readonly number[] | undefined, flange: Mat3, keep: number): void {
    this.total = this.fromClients ? outOfFrame(flange, written ?? [0, 0, 0, 0, 0, 0]) : this.acting;
    this.history.push(this.wrench);
    if (this.history.length > keep) this.history.shift();
  }

  /** What acts now counts as nothing. */
  tare(): void {
    this.zero = this.total;
  }
  untare(): void {
    this.zero = [0, 0, 0, 0, 0, 0];
  }

  /**
   * Control steps since a contact against `direction` (x, y, z of the base frame; all zero: any direction) began; 0 without
   * one.
   */
  contactSteps(direction: readonly number[]): number {
    const length = Math.hypot(...direction.slice(0, 3));
    const against = (wrench: readonly number[]): number =>
      length > 0
        ? -[0, 1, 2].reduce((sum, i) => sum + (wrench[i] ?? 0) * (direction[i] ?? 0), 0) / length
        : Math.hypot(...wrench.slice(0, 3));
    let steps = 0;
    while (
      steps < this.history.length &&
      against(this.history[this.history.length - 1 - steps] ?? []) > contactN
    )
      steps++;
    return steps;
  }
}
