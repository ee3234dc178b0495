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
    await this.robot.moveJoints(q, options, signal);
  }

  async moveLinear(
    baseFromFlange: Transform,
    options: { readonly speedMS: number; readonly accelerationMS2: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.robot.moveLinear(baseFromFlange, options, signal);
  }

  stop(): void {
    this.robot.stop();
  }
}
