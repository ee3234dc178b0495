/** Runs the native alignment loop: lends it the stage link and the cameras, ends it on stop. */
import { CellError } from "../../base/errors.js";
import type { RunServo } from "../../agent/skills/align-needle.js";
import { cellAddon, type NativeCamera, type NativeServo } from "../../cell/native.js";
import type { DeviceSet } from "./device-set.js";

const limits = {
  maxIterations: 40,
  /** No progress when the error has not shrunk by this factor within so many looks. */
  shrinkFactor: 0.9,
  shrinkSteps: 12,
  /** Largest step per look: a tenth of the field. */
  maxStepPulses: 500,
  approachPulses: 8,
  timeoutS: 25,
  speedTable: 4,
} as const;

export class ServoRunner {
  private readonly servo: NativeServo;
  private running = false;

  constructor(private readonly devices: DeviceSet) {
    this.servo = new (cellAddon().Servo)();
  }

  readonly run: RunServo = async (request, signal) => {
    const [first, second] = this.devices.microscopes;
    const onAbort = (): void => this.servo.stop();
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort, { once: true });
    this.running = true;
    try {
      return await this.devices.stages.lend((line) =>
        this.servo.run({
          ...line,
          views: [
            {
              camera: native(first),
              prior: request.priors[0],
              goalX: request.goals[0][0],
              goalY: request.goals[0][1],
            },
            {
              camera: native(second),
              prior: request.priors[1],
              goalX: request.goals[1][0],
              goalY: request.goals[1][1],
            },
          ],
          axes: request.axes,
          tolerancePx: request.tolerancePx,
          consecutive: request.consecutive,
          ...limits,
        }),
      );
    } finally {
      this.running = false;
      signal.removeEventListener("abort", onAbort);
    }
  };

  /** Safe at any time. */
  stop(): void {
    if (this.running) this.servo.stop();
  }
}

function native(microscope: DeviceSet["microscopes"][0]): NativeCamera {
  const camera = microscope.native;
  if (camera === undefined) throw new CellError("CAMERA_OFFLINE", `${microscope.name} is not open`);
  return camera;
}
