/** The arm of a cell in the words of the device contract: what the agent sees of a UR robot. */
import type { Transform } from "../../base/transform.js";
import type { ArmDevice, ArmState } from "../devices.js";
import type { UrRobot } from "./ur-robot.js";

export class UrArm implements ArmDevice {
  constructor(readonly robot: UrRobot) {}

  state(): ArmState | undefined {
    const { q, baseFromFlange, moving, emergencyStopped, protectiveStopped, connected, ageS } =
      this.robot.state();
    if (q === undefined || baseFromFlange === undefined) return undefined;
    return { q, baseFromFlange, moving, emergencyStopped, protectiveStopped, connected, ageS };
  }

  async moveJoints(
    q: readonly number[],
    options: { readonly speedRadS: number; readonly accelerationRadS2: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.ready(signal);
    await this.robot.moveJoints(q, options, signal);
  }

  async moveLinear(
    baseFromFlange: Transform,
    options: { readonly speedMS: number; readonly accelerationMS2: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.ready(signal);
    await this.robot.moveLinear(baseFromFlange, options, signal);
  }

  /**
   * After a stop, or when the control program ended while the arm stood, the next commanded motion starts a new program:
   * it comes from a new decision, and nothing of the old one survives. A safety stop of the robot is not lifted here.
   */
  private async ready(signal: AbortSignal): Promise<void> {
    if (this.robot.state().lifecycle === "fault") await this.robot.reset(signal);
    if (this.robot.state().lifecycle === "inactive") await this.robot.activate(signal);
  }

  stop(): void {
    this.robot.stop();
  }
}
