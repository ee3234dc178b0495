/**
 * What the skills of one procedure share: registration and alignment in force, what is known of focus and tool, targets
 * and loops. Everything in it was measured or comes from the procedure file; the gate reads it, never a model.
 */
import type { Vec3 } from "../../base/transform.js";
import type { Pixel, ViewPair } from "../perception/view-model.js";
import type { NeedleEstimate } from "../../cell/native.js";
import type { ProcedureTarget } from "../procedure/schema.js";

export interface Registration {
  /** Robot coordinates → pixels, both views. */
  readonly views: ViewPair;
  readonly freM: number;
  /** On held-out poses, after the arm had been away. */
  readonly treM: number;
  readonly establishedS: number;
  /** Where each focus stage stood; a move beyond `focusRangeM` from it clears the registration. */
  readonly focusM: readonly [number, number];
}

export interface Alignment {
  readonly targetIndex: number;
  readonly epoch: number;
  readonly angleRad: number;
  readonly errorM: readonly [number, number];
}

export interface TargetState {
  readonly target: ProcedureTarget;
  /** Robot coordinates of the site, end-expiration, as registered. */
  siteM: Vec3 | undefined;
  /** Where the site was last seen at rest in each view, px. */
  sitePx: readonly [Pixel, Pixel] | undefined;
  implanted: boolean;
  /** The needle stroke was made here and its release has not been seen yet. */
  struck: boolean;
  /** Given up after failures that another attempt would only repeat. */
  failedAttempts: number;
}

export class Session {
  frameEpoch = 1;
  registration: Registration | undefined;
  alignment: Alignment | undefined;
  /** Where the focus stage of each view had the tip sharp, and the tip's robot coordinates then. */
  readonly sharpAt: ({ readonly focusM: number; readonly tip: Vec3 } | undefined)[] = [undefined, undefined];
  /** Newest needle in each view. */
  readonly needles: (NeedleEstimate | undefined)[] = [undefined, undefined];
  readonly targets: TargetState[];
  /** Loops of the cartridge that are still to be had. */
  readonly loops: Set<number>;
  /** Found loops lie this far from the drawing, head frame, m. */
  loopOffset: Vec3 = [0, 0, 0];
  /** Loop on the hook, as seen. */
  loaded: number | undefined;
  needleIntact: boolean | "unknown" = "unknown";
  needleInTissue = false;
  /** Image motion of the tip per metre of the needle drive, px/m. */
  strokeImage: readonly [Pixel, Pixel] | undefined;

  constructor(targets: readonly ProcedureTarget[], loops: number) {
    this.targets = targets.map((target) => ({
      target,
      siteM: undefined,
      sitePx: undefined,
      implanted: false,
      struck: false,
      failedAttempts: 0,
    }));
    this.loops = new Set(Array.from({ length: loops }, (_, k) => k));
  }

  /** Takes over what an earlier run established and a new one does not change: needle, focus, loops. */
  inherit(earlier: Session): void {
    this.frameEpoch = earlier.frameEpoch + 1;
    earlier.sharpAt.forEach((sharp, i) => (this.sharpAt[i] = sharp));
    earlier.needles.forEach((needle, i) => (this.needles[i] = needle));
    this.loopOffset = earlier.loopOffset;
    this.loaded = earlier.loaded;
    this.needleIntact = earlier.needleIntact;
    this.needleInTissue = earlier.needleInTissue;
    this.loops.clear();
    for (const loop of earlier.loops) this.loops.add(loop);
  }

  /** Something moved that an alignment does not survive. */
  advanceEpoch(): void {
    this.frameEpoch++;
    this.alignment = undefined;
  }

  clearRegistration(): void {
    this.registration = undefined;
    this.alignment = undefined;
  }

  /** The target that comes next, with its index; undefined when all are implanted. */
  nextTarget(): { readonly index: number; readonly state: TargetState } | undefined {
    const index = this.targets.findIndex((state) => !state.implanted);
    const state = this.targets[index];
    return state === undefined ? undefined : { index, state };
  }
}
