/**
 * The body of the cell between the emulated controllers and the microscopes: true pose of needle and cartridge from
 * what arm, stages and drive truly do, the moving tissue, and what happens where they meet. Stepped on the real clock;
 * fast strokes are cut into short steps, because the controllers' motions are exact functions of time.
 */
import { Random } from "../base/random.js";
import {
  add,
  apply,
  compose,
  dot,
  invert,
  rotate,
  scale,
  subtract,
  type Transform,
  type Vec3,
} from "../base/transform.js";
import { stepLoop, type LoopGeometry, type LoopState } from "./electrode.js";
import { electrodeSegments, needleSegments, type Segment } from "./needle-shape.js";
import type { Scenario } from "./scenario.js";
import { carriedPlate, mountedPlate, type TargetMounting } from "./target-plate.js";
import {
  drawMotion,
  drawPhantom,
  heightAbove,
  materialPoint,
  pierce,
  tissueShift,
  vesselClearance,
  type Phantom,
  type TissueMotion,
} from "./tissue.js";
import {
  loopInCartridge,
  trueArm,
  trueCartridgePose,
  trueSlidePose,
  trueTipFromSlide,
  type TrueCell,
} from "./true-cell.js";

/** What the emulated devices truly do; each an exact function of time (monotonic s). */
export interface Devices {
  armJoints(nowS: number): readonly number[];
  /** m or rad by KOHZU axis. */
  stage(axis: number, nowS: number): number;
  needle(nowS: number): number;
  /** How far somebody has pushed a microscope along its axis, m. */
  focusKnock(view: 0 | 1): number;
  /** How far the common centre of the tilts has wandered, head frame, m. */
  tiltCentreWander(nowS: number): Vec3;
}

/** Something that happened to the tissue or an electrode, with where and when it truly did. */
export interface MechanicsEvent {
  readonly kind:
    | "threaded"
    | "unthreaded"
    | "hooked"
    | "slipped"
    | "torn"
    | "released"
    | "dragged-out"
    | "entered-tissue"
    | "left-tissue"
    | "side-load";
  readonly timeS: number;
  readonly loop?: number;
  /** Material point of the surface (u, v), m. */
  readonly material?: readonly [number, number];
  readonly depthM?: number;
  /** Needle axis at that moment, world, pointing out of the tip. */
  readonly axis?: Vec3;
  readonly vesselClearanceM?: number;
}

/** The moment's truth, as kept in the history. */
export interface MechanicsSample {
  readonly timeS: number;
  readonly tip: Vec3;
  readonly axis: Vec3;
  readonly shift: Vec3;
  readonly focusM: readonly [number, number];
  readonly wanderM: readonly [readonly [number, number], readonly [number, number]];
  readonly light: number;
}

export interface MechanicsState extends MechanicsSample {
  readonly segments: readonly Segment[];
  readonly loops: readonly LoopState[];
  /** The calibration target, world from plate, while it is mounted in place of needle and tissue. */
  readonly plate?: Transform | undefined;
}

interface Advance {
  readonly sample: MechanicsSample;
  readonly tip: Transform;
  readonly cartridge: Transform;
  readonly slide: Transform;
}

interface StandingPoses {
  readonly key: readonly number[];
  /** The needle unit, carrying the slide; world. */
  readonly slide: Transform;
  readonly cartridge: Transform;
}

const stageAxisNumbers = [1, 2, 3, 4, 5, 6, 7];
/** The longest step while the needle is fast, s: at 100 mm/s it moves 50 µm. Where it pierces is solved, not stepped. */
const fineStepS = 0.0005;
/** How often the twin steps, s. */
export const usualStepS = 0.004;

export class Mechanics {
  readonly phantom: Phantom;
  readonly motion: TissueMotion;
  private readonly random: Random;
  private readonly wander: readonly [number, number][];
  private readonly lightPhase: number;
  private loops: LoopState[];
  private arrival: Vec3;
  private nextArrival: Vec3;
  private lastJoints: readonly number[] | undefined;
  private armStanding = true;
  private lastS: number | undefined;
  private lastTip: Vec3 = [0, 0, 0];
  private lastHook: Vec3 = [0, 0, 0];
  private lastNeedle = 0;
  private inTissue = false;
  private stillSinceS = 0;
  /** How long the needle had stood still before it last began to move, s. */
  private stoodS = 0;
  private kept: StandingPoses | undefined;
  private entry: { material: readonly [number, number]; clearance: number } | undefined;
  private sideLoaded = false;
  needleBroken = false;
  private mounted: { readonly plate: Transform; readonly slide: Transform } | undefined;
  private mounting: TargetMounting = "off";

  constructor(
    private readonly cell: TrueCell,
    private readonly scenario: Scenario,
    private readonly devices: Devices,
    private readonly emit: (event: MechanicsEvent) => void,
  ) {
    this.phantom = drawPhantom(scenario, cell.seed);
    this.motion = drawMotion(cell, scenario, cell.seed);
    this.random = new Random(cell.seed, "mechanics");
    this.loops = Array.from({ length: cell.file.cartridge.loops }, () => ({
      kind: "cartridge" as const,
      displacement: [0, 0, 0] as Vec3,
      threaded: false,
    }));
    this.arrival = this.drawArrival();
    this.nextArrival = this.drawArrival();
    this.wander = [0, 1].map(() => [this.random.uniform(0, 6.28), this.random.uniform(0.02, 0.05)]);
    this.lightPhase = this.random.uniform(0, 2 * Math.PI);
  }

  /** An operator mounts the calibration target on the needle's holder, or takes it away; at the next step. */
  mountTarget(mounting: TargetMounting): void {
    this.mounting = mounting;
    this.mounted = undefined;
  }

  private drawArrival(): Vec3 {
    const sigma = this.scenario.imperfections.armRepeatabilityM / 3;
    return [this.random.normal(0, sigma), this.random.normal(0, sigma), this.random.normal(0, sigma)];
  }

  /** Advances to `nowS` and returns the truth there. */
  step(nowS: number): MechanicsState {
    const fromS = this.lastS ?? nowS;
    const strokes = this.needleMovedSince(fromS, nowS);
    const steps = strokes ? Math.min(4000, Math.max(1, Math.ceil((nowS - fromS) / fineStepS))) : 1;
    let last: Advance | undefined;
    for (let i = 1; i <= steps; i++) last = this.advance(fromS + ((nowS - fromS) * i) / steps);
    if (last === undefined) throw new RangeError("a step must advance");
    const { sample, tip, cartridge } = last;
    if (this.mounting !== "off") {
      const { slide } = last;
      this.mounted ??= { plate: mountedPlate(this.cell, this.mounting), slide };
      const plate = carriedPlate(this.mounted.plate, this.mounted.slide, slide);
      return { ...sample, segments: [], loops: this.loops, plate };
    }
    const segments = [
      ...electrodeSegments(this.cell.file, this.loops, cartridge, tip, this.cell.tissue, sample.shift),
      ...needleSegments(this.cell.file, tip, this.needleBroken),
    ];
    return { ...sample, segments, loops: this.loops };
  }

  /** Whether the needle moved at any moment of the span: after a late turn it may have gone down and come back. */
  private needleMovedSince(fromS: number, toS: number): boolean {
    const looks = Math.min(2000, Math.max(1, Math.ceil((toS - fromS) / usualStepS)));
    for (let k = 1; k <= looks; k++)
      if (Math.abs(this.devices.needle(fromS + ((toS - fromS) * k) / looks) - this.lastNeedle) > 5e-6)
        return true;
    return false;
  }

  private advance(timeS: number): Advance {
    const joints = this.devices.armJoints(timeS);
    this.followArm(joints, timeS);
    const stages = new Map(stageAxisNumbers.map((axis) => [axis, this.devices.stage(axis, timeS)]));
    const needle = this.devices.needle(timeS);
    const { slide, cartridge } = this.standing(joints, stages, timeS);
    const tip = trueTipFromSlide(this.cell, slide, needle);
    const shift = tissueShift(this.motion, timeS);
    const sample: MechanicsSample = {
      timeS,
      tip: tip.translation,
      axis: rotate(tip.rotation, [0, 0, 1]),
      shift,
      focusM: [this.focusOf(0, stages), this.focusOf(1, stages)],
      wanderM: [this.wanderOf(0, timeS), this.wanderOf(1, timeS)],
      light:
        1 + this.scenario.imperfections.lightDrift * Math.sin(2 * Math.PI * 0.004 * timeS + this.lightPhase),
    };
    // With the target on the holder there is neither needle nor tissue.
    if (this.mounting === "off") {
      this.touchTissue(timeS, sample, needle);
      this.touchLoops(timeS, sample, tip, cartridge, needle);
    }
    this.lastTip = tip.translation;
    this.lastNeedle = needle;
    this.lastS = timeS;
    return { sample, tip, cartridge, slide };
  }

  private focusOf(view: 0 | 1, stages: ReadonlyMap<number, number>): number {
    const stage = stages.get(this.cell.microscopes[view].focusAxis) ?? 0;
    return this.cell.startFocusM[view] + this.devices.focusKnock(view) + stage;
  }

  /**
   * Poses that depend on arm and stages alone, kept while these stand: during a stroke only the slide moves, and the
   * chain of the whole robot need not be walked two thousand times a second.
   */
  private standing(
    joints: readonly number[],
    stages: ReadonlyMap<number, number>,
    timeS: number,
  ): StandingPoses {
    const key = [...joints, ...this.arrival, ...stages.values()];
    const kept = this.kept;
    if (kept?.key.every((value, i) => value === key[i]) === true) return kept;
    const arm = trueArm(this.cell, joints, this.arrival);
    const drawn = trueCartridgePose(this.cell, arm, stages);
    const wander = rotate(arm.rotation, this.devices.tiltCentreWander(timeS));
    const cartridge: Transform = { ...drawn, translation: add(drawn.translation, wander) };
    this.kept = { key, slide: trueSlidePose(this.cell, arm, stages), cartridge };
    return this.kept;
  }

  /** Slow thermal wander of a microscope's image, m: below a micrometre per minute. */
  private wanderOf(view: 0 | 1, timeS: number): readonly [number, number] {
    const [phase, rate] = this.wander[view] ?? [0, 0.03];
    const amplitude = 1.5e-6;
    return [amplitude * Math.sin(rate * timeS + phase), amplitude * Math.cos(0.8 * rate * timeS + 2 * phase)];
  }

  /** Repeatability is drawn at each arrival and still while standing: it changes only while the arm moves. */
  private followArm(joints: readonly number[], timeS: number): void {
    const before = this.lastJoints;
    this.lastJoints = joints;
    if (before === undefined || this.lastS === undefined) return;
    const moved = Math.max(...joints.map((q, i) => Math.abs(q - (before[i] ?? q))));
    if (moved < 1e-9) {
      this.armStanding = true;
      return;
    }
    if (this.armStanding) {
      this.armStanding = false;
      this.nextArrival = this.drawArrival();
    }
    const blend = 1 - Math.exp(-Math.max(0, timeS - this.lastS) / 0.03);
    this.arrival = add(this.arrival, scale(subtract(this.nextArrival, this.arrival), blend));
  }

  private touchTissue(timeS: number, sample: MechanicsSample, needle: number): void {
    const { tissue } = this.cell;
    const tip: Vec3 = this.needleBroken ? add(sample.tip, scale(sample.axis, -4e-4)) : sample.tip;
    const height = heightAbove(tissue, sample.shift, tip);
    if (Math.abs(needle - this.lastNeedle) > 1e-8) {
      const stoodS = (this.lastS ?? timeS) - this.stillSinceS;
      if (stoodS > 0) this.stoodS = stoodS;
      this.stillSinceS = timeS;
    }
    if (height < 0 && !this.inTissue) {
      const at = pierce(tissue, sample.shift, tip, sample.axis) ?? tip;
      const material = materialPoint(tissue, sample.shift, at);
      const clearance = vesselClearance(this.phantom, ...material) - this.cell.file.needle.tipDiameterM / 2;
      this.inTissue = true;
      this.sideLoaded = false;
      this.entry = { material, clearance };
      this.stillSinceS = timeS;
      this.emit({ kind: "entered-tissue", timeS, material, axis: sample.axis, vesselClearanceM: clearance });
    } else if (height > 0 && this.inTissue) {
      this.inTissue = false;
      this.emit({ kind: "left-tissue", timeS });
    } else if (this.inTissue && !this.sideLoaded && this.lastS !== undefined) {
      // Moving sideways with the needle in tissue tears it; a controller must never do this.
      const travel = subtract(sample.tip, this.lastTip);
      const along = dot(travel, sample.axis);
      const sideways = Math.sqrt(Math.max(0, dot(travel, travel) - along * along));
      if (sideways > 5e-6) {
        this.sideLoaded = true;
        this.emit({ kind: "side-load", timeS });
      }
    }
  }

  private touchLoops(
    timeS: number,
    sample: MechanicsSample,
    tip: Transform,
    cartridge: Transform,
    needle: number,
  ): void {
    const { file, tissue } = this.cell;
    const cartridgeFromTip = compose(invert(cartridge), tip);
    const hook = apply(cartridgeFromTip, [
      file.needle.hookReachM - file.needle.hookThicknessM / 2,
      0,
      -file.needle.hookHeightM,
    ]);
    const stepS = this.lastS === undefined ? 0 : timeS - this.lastS;
    const velocity: Vec3 = stepS > 0 ? scale(subtract(hook, this.lastHook), 1 / stepS) : [0, 0, 0];
    const hookWorld = apply(tip, [0, 0, -file.needle.hookHeightM]);
    const depthM = -heightAbove(tissue, sample.shift, hookWorld);
    const surface = pierce(tissue, sample.shift, sample.tip, sample.axis) ?? sample.tip;
    const material = materialPoint(tissue, sample.shift, surface);
    this.loops = this.loops.map((state, k) => {
      const geometry: LoopGeometry = {
        home: loopInCartridge(file, k),
        innerY: file.cartridge.ringInnerM.y,
        innerZ: file.cartridge.ringInnerM.z,
        wireM: file.cartridge.wireM,
        barbThicknessM: file.needle.hookThicknessM,
        barbFreeM: file.needle.hookReachM - file.needle.tipDiameterM / 2,
      };
      const result = stepLoop(state, geometry, {
        barbEnd: hook,
        barbDirection: rotate(cartridgeFromTip.rotation, [1, 0, 0]),
        needleDirection: rotate(cartridgeFromTip.rotation, [0, 0, 1]),
        velocity,
        depthM,
        dwellS: timeS > this.stillSinceS ? timeS - this.stillSinceS : this.stoodS,
        strokeSpeed: stepS > 0 ? (needle - this.lastNeedle) / stepS : 0,
        material,
        hookPresent: !this.needleBroken,
      });
      if (result.event !== undefined)
        this.emit({
          kind: result.event,
          timeS,
          loop: k,
          ...(result.event === "released"
            ? { material, depthM, axis: sample.axis, vesselClearanceM: this.entry?.clearance ?? Infinity }
            : {}),
        });
      return result.state;
    });
    this.lastHook = hook;
  }
}
