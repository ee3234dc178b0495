/** A stage calibration's hands and eyes on the workbench of the skills: the same drivers, envelope and guardian. */
import { CellError } from "../../base/errors.js";
import { dot, rotate, type Vec3 } from "../../base/transform.js";
import { asPair, viewIndexes, type Workbench } from "../../agent/skills/workbench.js";
import type { LinearStage, StageName } from "./stage-plan.js";
import type { RigLook, StagePosition, StageRig } from "./stage-rig.js";

/** More white pixels than this make a frame no measure. */
const clippedShare = 0.05;
const framesPerLook = 3;

const axes: Readonly<Record<LinearStage, Vec3>> = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

export class BenchRig implements StageRig {
  constructor(private readonly bench: Workbench) {}

  get size(): readonly [number, number] {
    const { widthPx, heightPx } = this.bench.file.microscopes[0];
    return [widthPx, heightPx];
  }

  position(): StagePosition {
    const { x, y, z, focus1, focus2 } = this.bench.file.stageAxes;
    const at = (axis: number): number => this.bench.devices.stages.position(axis);
    return { x: at(x), y: at(y), z: at(z), focus1: at(focus1), focus2: at(focus2) };
  }

  limits(stage: StageName): { readonly min: number; readonly max: number } {
    return this.bench.devices.stages.limits(this.bench.file.stageAxes[stage]);
  }

  focusFollows(axis: LinearStage): readonly [number, number] {
    const inBase = rotate(this.bench.baseFromHead().rotation, axes[axis]);
    return asPair(viewIndexes.map((i) => dot(this.bench.drawnViews()[i].forward, inBase)));
  }

  async move(targets: Partial<StagePosition>, oneSided: boolean, signal: AbortSignal): Promise<void> {
    this.requireStandingArm();
    await this.bench.moveStages(targets, signal, oneSided);
  }

  async look(signal: AbortSignal): Promise<RigLook> {
    this.requireStandingArm();
    await requireExposure(this.bench);
    const look = await this.bench.look(signal, framesPerLook);
    const pair = (i: 0 | 1): [number, number] => [look.tips[i][0], look.tips[i][1]];
    return { tips: [pair(0), pair(1)], atS: this.bench.clock.now() };
  }

  private requireStandingArm(): void {
    requireStandingArm(this.bench);
  }
}

/** @throws CellError LINK_CLOSED without a sample of the arm, CALIBRATION_REFUSED while it moves */
export function requireStandingArm(bench: Workbench): void {
  const arm = bench.devices.arm.state();
  if (arm?.connected !== true) throw new CellError("LINK_CLOSED", "the arm reports no position");
  if (arm.moving)
    throw new CellError("CALIBRATION_REFUSED", "the arm moves; it must stand while the needle is measured", {
      remedy: "let the arm come to rest, and let nobody else command it",
    });
}

/** @throws CellError CALIBRATION_REFUSED for a picture that is too white to be a measure */
export async function requireExposure(bench: Workbench): Promise<void> {
  await Promise.all(
    viewIndexes.map(async (i) => {
      const { clippedHigh } = await bench.withFrame(i, bench.clock.now(), (frame) =>
        bench.geometry.measureImage(frame),
      );
      if (clippedHigh > clippedShare)
        throw new CellError(
          "CALIBRATION_REFUSED",
          `${bench.file.microscopes[i].name}: ${(100 * clippedHigh).toFixed(1)} % of the pixels are white, ` +
            `${100 * clippedShare} % are allowed`,
          { remedy: "lower the light or the exposure" },
        );
    }),
  );
}
