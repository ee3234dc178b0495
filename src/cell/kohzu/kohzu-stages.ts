/** The stages of a cell in metres and radians: what the agent sees of a KOHZU controller. */
import { asCellError, CellError } from "../../base/errors.js";
import type { StageDevice } from "../devices.js";
import type { StageLine } from "../native.js";
import { toPulses } from "./axis-config.js";
import type { KohzuController } from "./kohzu-controller.js";

export class KohzuStages implements StageDevice {
  /** A stop that no connection took; the guardian has its own way to the device. */
  onStopFailed: (reason: CellError) => void = () => undefined;

  constructor(private readonly controller: KohzuController) {}

  /** Last measured position, m or rad. @throws CellError DEVICE_FAULT while it is not to be trusted */
  position(axis: number): number {
    const reading = this.controller.lastReading(axis);
    if (reading === undefined)
      throw (
        this.controller.status.fault ??
        new CellError("DEVICE_FAULT", `the position of axis ${axis} is unknown`)
      );
    return reading.pulses * this.controller.axis(axis).step;
  }

  get moving(): boolean {
    return this.controller.isMoving || this.controller.lent;
  }

  step(axis: number): number {
    return this.controller.axis(axis).step;
  }

  limits(axis: number): { readonly min: number; readonly max: number } {
    const { step, minPulses, maxPulses } = this.controller.axis(axis);
    return { min: minPulses * step, max: maxPulses * step };
  }

  /** @throws CellError as `KohzuController.moveMany` */
  async moveTo(
    targets: ReadonlyMap<number, number>,
    options: { readonly oneSided: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const pulses = new Map<number, number>();
    for (const [axis, target] of targets) pulses.set(axis, toPulses(this.controller.axis(axis), target));
    await this.controller.moveMany(pulses, { oneSided: options.oneSided, signal });
  }

  /** @throws CellError as `KohzuController.suspend` */
  async lend<T>(work: (line: StageLine) => Promise<T>): Promise<T> {
    const line = this.controller.suspend();
    try {
      return await work(line);
    } finally {
      await this.controller.resume();
    }
  }

  /** Whether the axis has found its origin since power-on. */
  homed(axis: number): boolean {
    return this.controller.lastReading(axis)?.homed === true;
  }

  /** Searches the origin of one axis. @throws CellError as `KohzuController.home` */
  async home(axis: number, signal: AbortSignal): Promise<void> {
    await this.controller.home(axis, { signal });
  }

  stop(): void {
    this.controller.stop().catch((error: unknown) => {
      this.onStopFailed(asCellError(error));
    });
  }
}
