/**
 * The hands and eyes of the skills: positions in robot coordinates, moves of stages, arm and focus, and looks at the
 * needle in both views. Every move goes through the drivers, whose last step before the wire is the envelope.
 */
import type { CellFile } from "../../base/cell-file.js";
import type { Clock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import type { DeviceReading, FrameTree } from "../../base/frame-tree.js";
import {
  add,
  compose,
  dot,
  norm,
  rotate,
  scale,
  subtract,
  transpose,
  type Mat3,
  type Transform,
  type Vec3,
} from "../../base/transform.js";
import type { CellDevices } from "../../cell/devices.js";
import type { FrameLease, Geometry, NeedleEstimate } from "../../cell/native.js";
import {
  anchored,
  directionFromImages,
  drawnView,
  measuredView,
  metresPerPixel,
  projectPoint,
  projectVector,
  triangulate,
  type Pixel,
  type ViewModel,
  type ViewPair,
} from "../perception/view-model.js";
import { MotionProgress } from "../safety/motion-progress.js";
import type { ProcedureTarget } from "../procedure/schema.js";
import { working } from "./limits.js";
import type { Session } from "./session.js";

export const viewIndexes = [0, 1] as const;
export type ViewIndex = (typeof viewIndexes)[number];

/** One look: the needle in both views, averaged over a few frames. */
export interface Look {
  readonly needles: readonly [NeedleEstimate, NeedleEstimate];
  readonly tips: readonly [Pixel, Pixel];
  readonly directions: readonly [Pixel, Pixel];
  /** Reported tip, robot coordinates, when it was taken. */
  readonly tipM: Vec3;
}

export type StageTargets = Partial<Record<"x" | "y" | "z" | "tiltX" | "tiltY" | "focus1" | "focus2", number>>;

export interface WorkbenchParts {
  readonly file: CellFile;
  readonly tree: FrameTree;
  /** Edges that the calibration found elsewhere than drawn. */
  readonly edges: ReadonlyMap<string, Transform>;
  /** Views whose map was measured, by name; the others are as drawn. */
  readonly measuredViews: ReadonlyMap<string, readonly [Vec3, Vec3]>;
  readonly devices: CellDevices;
  readonly geometry: Geometry;
  readonly clock: Clock;
  /** Tells the guardian that the needle is (going to be) in tissue, or out of it. */
  readonly tellGuardian: (inTissue: boolean) => void;
  /** Keeps a frame in the recording under a label; takes over the lease. */
  readonly keep: (frame: FrameLease, label: string) => void;
  /** Throws when motion is not allowed: no guardian, stop latched. */
  readonly assertMayMove: () => void;
}

export class Workbench {
  readonly file: CellFile;
  readonly devices: CellDevices;
  readonly geometry: Geometry;
  readonly clock: Clock;
  private readonly drawn: ViewPair;
  private current: ViewPair | undefined;
  /** Frames looked at so far, by view: what a skill costs. */
  readonly framesUsed: [number, number] = [0, 0];

  constructor(
    private readonly parts: WorkbenchParts,
    readonly session: Session,
  ) {
    this.file = parts.file;
    this.devices = parts.devices;
    this.geometry = parts.geometry;
    this.clock = parts.clock;
    const worldFromBase = parts.tree.fixedEdge("base").rotation;
    const known = (microscope: CellFile["microscopes"][number]): ViewModel => {
      const rows = parts.measuredViews.get(microscope.name);
      return rows === undefined ? drawnView(microscope, worldFromBase) : measuredView(rows);
    };
    this.drawn = [known(parts.file.microscopes[0]), known(parts.file.microscopes[1])];
  }

  /** What the devices report now, SI. @throws CellError LINK_CLOSED without a fresh arm sample */
  reading(): DeviceReading {
    const arm = this.devices.arm.state();
    if (arm === undefined || !arm.connected)
      throw new CellError("LINK_CLOSED", "the arm reports no position");
    const stages = new Map(
      Object.values(this.file.stageAxes).map((axis) => [axis, this.devices.stages.position(axis)]),
    );
    return { arm: arm.baseFromFlange, stages, needle: this.devices.needle.position() };
  }

  /** Tip of the needle as reported, robot coordinates (UR base), m. */
  tip(): Vec3 {
    return this.pose("tip", this.reading(), "base").translation;
  }

  baseFromHead(): Transform {
    return this.pose("head", this.reading(), "base");
  }

  /** A drawn frame in the head, for the present reading. */
  headFrom(frame: string, reading: DeviceReading = this.reading()): Transform {
    return this.pose(frame, reading, "head");
  }

  private pose(frame: string, reading: DeviceReading, ancestor: string): Transform {
    return this.parts.tree.pose(frame, reading, ancestor, this.parts.edges);
  }

  /** Up, away from the tissue, in robot coordinates. */
  up(): Vec3 {
    return rotate(transpose(this.parts.tree.fixedEdge("base").rotation), [0, 0, 1]);
  }

  /** The views in force: registered ones, else drawn ones anchored at the last look. @throws VISION_UNKNOWN before one */
  views(): ViewPair {
    const views = this.session.registration?.views ?? this.current;
    if (views === undefined) throw new CellError("VISION_UNKNOWN", "the needle has not been seen yet");
    return views;
  }

  /** The views before anything was seen: measured ones where the calibration has them, else drawn ones. */
  drawnViews(): ViewPair {
    return this.drawn;
  }

  /** Shifts both views so that the tip of this look lies where the robot reports it: arm errors drop out. */
  anchor(look: Look, views: ViewPair = this.session.registration?.views ?? this.drawn): ViewPair {
    const moved = viewIndexes.map((i): ViewModel => anchored(views[i], look.tipM, look.tips[i]));
    const pair = asPair(moved);
    this.current = pair;
    if (this.session.registration !== undefined)
      this.session.registration = { ...this.session.registration, views: pair };
    return pair;
  }

  // Moves ------------------------------------------------------------------------------------------------------------

  async moveStages(targets: StageTargets, signal: AbortSignal, oneSided = true): Promise<void> {
    this.parts.assertMayMove();
    if (this.session.needleInTissue && ("x" in targets || "y" in targets || "z" in targets))
      throw new CellError(
        "SAFETY_ENVELOPE",
        "stages X, Y, Z stay where they are while the needle is in tissue",
      );
    const axes = this.file.stageAxes;
    const map = new Map<number, number>();
    for (const [name, value] of Object.entries(targets) as [keyof typeof axes, number][]) {
      const axis = axes[name];
      const { min, max } = this.devices.stages.limits(axis);
      if (!(value >= min && value <= max))
        throw new CellError(
          "DEVICE_LIMIT",
          `stage ${name}: ${(value * 1e3).toFixed(3)} lies outside ${(min * 1e3).toFixed(3)}…${(max * 1e3).toFixed(3)} (mm or mrad)`,
        );
      map.set(axis, value);
    }
    if (map.size > 0) await this.devices.stages.moveTo(map, { oneSided }, signal);
  }

  /** Stage X, Y, Z that bring the tip from where it is by `delta` (robot coordinates, m). */
  stagesFor(delta: Vec3): Required<Pick<StageTargets, "x" | "y" | "z">> {
    const local = rotate(transpose(this.baseFromHead().rotation), delta);
    const axes = this.file.stageAxes;
    const at = (axis: number): number => this.devices.stages.position(axis);
    return { x: at(axes.x) + local[0], y: at(axes.y) + local[1], z: at(axes.z) + local[2] };
  }

  /** Moves the tip with the stages by `delta` (robot coordinates, m); with `focus` the microscopes follow it. */
  async moveTipBy(delta: Vec3, signal: AbortSignal, focus = true, oneSided = true): Promise<void> {
    const goal = add(this.tip(), delta);
    const targets = { ...this.stagesFor(delta), ...(focus ? this.focusFor(goal) : {}) };
    await this.moveStages(targets, signal, oneSided);
  }

  /**
   * Moves the tip along a line in short steps: the axes are not interpolated, and each would otherwise finish its own part
   * of the way at once.
   */
  async moveTipAlong(delta: Vec3, stepM: number, signal: AbortSignal): Promise<void> {
    const start = this.tip();
    const steps = Math.max(1, Math.ceil(norm(delta) / stepM));
    for (let k = 1; k <= steps; k++)
      await this.moveTipBy(subtract(add(start, scale(delta, k / steps)), this.tip()), signal, false, false);
  }

  async moveTipTo(goal: Vec3, signal: AbortSignal, focus = true): Promise<void> {
    await this.moveTipBy(subtract(goal, this.tip()), signal, focus);
  }

  /** Focus positions that keep a point sharp, from where the tip was last found sharp. */
  focusFor(point: Vec3): Pick<StageTargets, "focus1" | "focus2"> {
    const result: Pick<StageTargets, "focus1" | "focus2"> = {};
    const views = this.session.registration?.views ?? this.current ?? this.drawn;
    viewIndexes.forEach((i) => {
      const sharp = this.session.sharpAt[i];
      if (sharp === undefined) return;
      const wanted = sharp.focusM + dot(views[i].forward, subtract(point, sharp.tip));
      const { min, max } = this.devices.stages.limits(this.file.microscopes[i].focusAxis);
      if (wanted >= min && wanted <= max) result[i === 0 ? "focus1" : "focus2"] = wanted;
    });
    return result;
  }

  focusPosition(i: ViewIndex): number {
    return this.devices.stages.position(this.file.microscopes[i].focusAxis);
  }

  /** Straight move of the flange; the target must lie in the box of the cell file. */
  async moveArm(baseFromFlange: Transform, signal: AbortSignal): Promise<void> {
    this.parts.assertMayMove();
    if (this.session.needleInTissue)
      throw new CellError("SAFETY_ENVELOPE", "the arm stays where it is while the needle is in tissue");
    const { min, max } = this.file.armBoxM;
    const at = baseFromFlange.translation;
    if (!at.every((value, i) => value >= (min[i] ?? Infinity) && value <= (max[i] ?? -Infinity)))
      throw new CellError(
        "SAFETY_ENVELOPE",
        `the flange would leave its box: ${at.map((v) => v.toFixed(4)).join(", ")} m`,
      );
    const { speedMS, accelerationMS2 } = working.arm;
    await this.devices.arm.moveLinear(baseFromFlange, { speedMS, accelerationMS2 }, signal);
  }

  /** Shifts the head by `delta` (robot coordinates, m). */
  async moveHeadBy(delta: Vec3, signal: AbortSignal): Promise<void> {
    const { arm } = this.reading();
    await this.moveArm({ rotation: arm.rotation, translation: add(arm.translation, delta) }, signal);
  }

  /** Turns the head about the reported tip: p' = tip + R (p − tip), skill-agent.md 13.1. */
  async turnAboutTip(rotation: Mat3, signal: AbortSignal): Promise<void> {
    const tip = this.tip();
    const { arm } = this.reading();
    const turned = compose({ rotation, translation: subtract(tip, rotate(rotation, tip)) }, arm);
    await this.moveArm(turned, signal);
  }

  async moveNeedle(
    positionM: number,
    motion: { readonly speedMS: number; readonly accelerationMS2: number },
    signal: AbortSignal,
  ): Promise<void> {
    this.parts.assertMayMove();
    await this.whileItGetsOn([positionM], 0, signal, (watched) =>
      this.devices.needle.moveTo(positionM, motion, watched),
    );
  }

  async stroke(
    stroke: Parameters<CellDevices["needle"]["stroke"]>[0],
    signal: AbortSignal,
  ): ReturnType<CellDevices["needle"]["stroke"]> {
    this.parts.assertMayMove();
    const goals = [stroke.depthPositionM, stroke.retractToM];
    return this.whileItGetsOn(goals, stroke.dwellS, signal, (watched) =>
      this.devices.needle.stroke(stroke, watched),
    );
  }

  /** Looks whether the needle comes nearer to its goals; stops it first and explains afterwards. @throws SAFETY_GUARD */
  private async whileItGetsOn<T>(
    goalsM: readonly number[],
    restS: number,
    signal: AbortSignal,
    move: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { needle } = this.devices;
    const progress = new MotionProgress(goalsM, { ...working.needleProgress, restS }, this.clock.now());
    const over = new AbortController();
    const watch = async (): Promise<never> => {
      for (;;) {
        await this.clock.sleep(0.02, over.signal);
        let why: string | undefined;
        try {
          why = progress.look(this.clock.now(), needle.position());
        } catch {
          // A position that is not known: the driver has noticed, and its motion fails by itself.
        }
        if (why === undefined) continue;
        needle.stop();
        throw new CellError("SAFETY_GUARD", `the needle: ${why}`);
      }
    };
    const watching = watch();
    watching.catch(() => undefined);
    try {
      return await Promise.race([move(AbortSignal.any([signal, over.signal])), watching]);
    } finally {
      over.abort(new CellError("LINK_ABORTED", "the motion is over"));
    }
  }

  setInTissue(inTissue: boolean): void {
    this.session.needleInTissue = inTissue;
    this.parts.tellGuardian(inTissue);
  }

  // Looks ------------------------------------------------------------------------------------------------------------

  /** A fresh frame of one view, exposed after `afterS`; released when `use` settles. */
  async withFrame<T>(i: ViewIndex, afterS: number, use: (frame: FrameLease) => Promise<T> | T): Promise<T> {
    const microscope = this.devices.microscopes[i];
    const frame = await microscope.nextFrame(afterS, 2);
    this.framesUsed[i]++;
    try {
      return await use(frame);
    } finally {
      frame.release();
    }
  }

  /** Keeps a fresh frame of each view in the recording: what a decisive moment looked like. */
  async keepFrames(label: string): Promise<void> {
    const afterS = this.clock.now();
    await Promise.all(
      viewIndexes.map(async (i) => {
        try {
          this.parts.keep(await this.devices.microscopes[i].nextFrame(afterS, 1), label);
        } catch (error) {
          // A picture for people; the work does not depend on it.
          if (!(error instanceof CellError)) throw error;
        }
      }),
    );
  }

  /** The needle in one view: tracked from where it was, else searched in the whole frame. */
  async findNeedle(i: ViewIndex, afterS: number): Promise<{ needle: NeedleEstimate; timeS: number }> {
    return this.withFrame(i, afterS, async (frame) => {
      const prior = this.expectedNeedle(i);
      let needle = prior?.found === true ? await this.geometry.trackNeedle(frame, prior) : undefined;
      if (needle?.found !== true) needle = await this.geometry.findNeedle(frame);
      if (needle.found) this.session.needles[i] = needle;
      return { needle, timeS: frame.hostTimestampS };
    });
  }

  /** The last needle of a view, moved to where the registration says that its tip is now. */
  private expectedNeedle(i: ViewIndex): NeedleEstimate | undefined {
    const last = this.session.needles[i];
    const view = this.session.registration?.views[i];
    if (last === undefined || view === undefined) return last;
    const [tipX, tipY] = projectPoint(view, this.tip());
    const { widthPx, heightPx } = this.file.microscopes[i];
    const inside = tipX > 0 && tipY > 0 && tipX < widthPx && tipY < heightPx;
    return inside ? { ...last, tipX, tipY } : last;
  }

  /**
   * Looks at the needle in both views, `count` frames each, all exposed after now; medians over them.
   * @throws CellError VISION_UNKNOWN naming the view that does not show it.
   */
  async look(signal: AbortSignal, count = 2): Promise<Look> {
    const tipM = this.tip();
    const startS = this.clock.now();
    const seen = await Promise.all(
      viewIndexes.map(async (i) => {
        const list: NeedleEstimate[] = [];
        let afterS = startS;
        let reason = "";
        for (let k = 0; k < count + 4 && list.length < count; k++) {
          signal.throwIfAborted();
          const { needle, timeS } = await this.findNeedle(i, afterS);
          afterS = timeS;
          if (needle.found) list.push(needle);
          else reason = needle.reason;
        }
        const last = list.at(-1);
        if (last === undefined || list.length < count)
          throw new CellError(
            "VISION_UNKNOWN",
            `${this.file.microscopes[i].name} does not show the needle: ${reason}`,
          );
        const middle = (pick: (n: NeedleEstimate) => number): number => median(list.map(pick));
        const needle: NeedleEstimate = {
          ...last,
          tipX: middle((n) => n.tipX),
          tipY: middle((n) => n.tipY),
          directionX: middle((n) => n.directionX),
          directionY: middle((n) => n.directionY),
          edgeSigmaPx: middle((n) => n.edgeSigmaPx),
          sharpestPx: middle((n) => n.sharpestPx ?? NaN),
        };
        return needle;
      }),
    );
    const [first, second] = seen;
    if (first === undefined || second === undefined) throw new RangeError("two views");
    return {
      needles: [first, second],
      tips: [
        [first.tipX, first.tipY],
        [second.tipX, second.tipY],
      ],
      directions: [
        [first.directionX, first.directionY],
        [second.directionX, second.directionY],
      ],
      tipM,
    };
  }

  /** The seen tip in robot coordinates, by triangulation. */
  seenTip(look: Look, views: ViewPair = this.views()): Vec3 {
    return triangulate(views, look.tips).point;
  }

  /** Image distance of two pixels in a view as a length, m. */
  lengthInView(i: ViewIndex, a: Pixel, b: Pixel): number {
    return Math.hypot(a[0] - b[0], a[1] - b[1]) * metresPerPixel(this.views()[i]);
  }

  /** Where the tip belongs in each view for a site seen at `sitePx`: the stand-off before it, along the planned line. */
  goals(target: ProcedureTarget, sitePx: readonly [Pixel, Pixel]): readonly [Pixel, Pixel] {
    const views = this.views();
    const axis = directionFromImages(views, asPair(target.picks.map((pick): Pixel => pick.axis)));
    return asPair(
      viewIndexes.map((i): Pixel => {
        const [u, v] = projectVector(views[i], scale(axis, -working.standoffM));
        const [du, dv] = this.silhouette(views[i], axis);
        return [sitePx[i][0] + u + du, sitePx[i][1] + v + dv];
      }),
    );
  }

  /**
   * How far the foremost point that a view shows lies beyond the image of the tip, px: the round end of a needle seen at
   * an angle stands out by r (1 − cos φ), φ its angle to the image plane.
   */
  private silhouette(view: ViewModel, axis: Vec3): Pixel {
    const [u, v] = projectVector(view, axis);
    const length = Math.hypot(u, v);
    const pixel = metresPerPixel(view);
    const beyondPx = (this.file.needle.tipRadiusM / pixel) * (1 - Math.min(1, length * pixel));
    return [(beyondPx * u) / length, (beyondPx * v) / length];
  }
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
};

export function asPair<T>(values: readonly T[]): readonly [T, T] {
  const [first, second] = values;
  if (first === undefined || second === undefined) throw new RangeError("two views");
  return [first, second];
}
