/**
 * The hands and eyes of the calibrations with a target, on the workbench of the skills: the same drivers, envelope and
 * guardian. Exposes and focuses by the target itself, moves it with the stages, and says where its crossings appear.
 */
import { CellError } from "../../base/errors.js";
import { dot, rotate, type Vec3 } from "../../base/transform.js";
import { clamp } from "../../base/units.js";
import { exposureFactor } from "../../agent/skills/adjust-exposure.js";
import { leastBlur } from "../../agent/skills/adjust-focus.js";
import { projectVector } from "../../agent/perception/view-model.js";
import { asPair, viewIndexes, type ViewIndex, type Workbench } from "../../agent/skills/workbench.js";
import type { Roi } from "../../cell/native.js";
import type { Crossing } from "./target-edges.js";
import type { TargetFinder } from "./target-finder.js";
import type { FoundTarget } from "./target-pattern.js";

export type Axis = "x" | "y" | "z";
const axes: readonly Axis[] = ["x", "y", "z"];

/** Where stages and focus stand, m. */
export type Stand = Readonly<Record<Axis | "focus1" | "focus2", number>>;

const coarse = { fromM: -1.3e-3, toM: 1.3e-3, stepM: 1e-4 } as const;
const whiteShare = 0.05;
const exposureRounds = 12;
/** The glass beside the pattern shall come to this grey level; what lies between is bright enough, and clips nothing. */
const whiteGoal = 170;
const whiteBand = [140, 195] as const;
/** Frames already on their way still carry the old exposure, s. */
const settleS = 0.12;
const stillPx = 1;

export interface TargetRig {
  readonly size: readonly [number, number];
  stand(): Stand;
  limits(axis: keyof Stand): { readonly min: number; readonly max: number };
  /** Image motion per metre of an axis as drawn (or as measured before), px/m: right, down. */
  motion(axis: Axis, view: ViewIndex): readonly [number, number];
  /** How the focus follows an axis, m/m. */
  follow(axis: Axis, view: ViewIndex): number;
  move(to: Partial<Stand>, signal: AbortSignal, oneSided?: boolean): Promise<void>;
  /** The target in both views, each from a frame exposed after now. */
  look(signal: AbortSignal): Promise<readonly [FoundTarget, FoundTarget]>;
  /** Mean grey level of a part of the picture, and the share of white pixels, over a few frames. */
  grey(
    view: ViewIndex,
    roi: Roi,
    frames: number,
  ): Promise<{ readonly mean: number; readonly clipped: number }>;
  /** Sharpness of a part of the picture as the focus skill measures it. */
  sharpness(view: ViewIndex, roi: Roi): Promise<number>;
  exposureUs(view: ViewIndex): Promise<number>;
  /** Sets the exposure and waits until frames carry it; says what the camera holds. */
  setExposureUs(view: ViewIndex, value: number): Promise<number>;
}

export class TargetBench implements TargetRig {
  constructor(
    private readonly bench: Workbench,
    private readonly finder: TargetFinder,
  ) {}

  get size(): readonly [number, number] {
    const { widthPx, heightPx } = this.bench.file.microscopes[0];
    return [widthPx, heightPx];
  }

  stand(): Stand {
    const { x, y, z, focus1, focus2 } = this.bench.file.stageAxes;
    const at = (axis: number): number => this.bench.devices.stages.position(axis);
    return { x: at(x), y: at(y), z: at(z), focus1: at(focus1), focus2: at(focus2) };
  }

  limits(axis: keyof Stand): { readonly min: number; readonly max: number } {
    return this.bench.devices.stages.limits(this.bench.file.stageAxes[axis]);
  }

  private inBase(axis: Axis): Vec3 {
    return rotate(
      this.bench.baseFromHead().rotation,
      [0, 1, 2].map((k) => (axes[k] === axis ? 1 : 0)) as unknown as Vec3,
    );
  }

  motion(axis: Axis, view: ViewIndex): readonly [number, number] {
    return projectVector(this.bench.drawnViews()[view], this.inBase(axis));
  }

  follow(axis: Axis, view: ViewIndex): number {
    return dot(this.bench.drawnViews()[view].forward, this.inBase(axis));
  }

  async move(to: Partial<Stand>, signal: AbortSignal, oneSided = true): Promise<void> {
    this.requireStandingArm();
    await this.bench.moveStages(to, signal, oneSided);
  }

  async look(signal: AbortSignal): Promise<readonly [FoundTarget, FoundTarget]> {
    this.requireStandingArm();
    const startS = this.bench.clock.now();
    return asPair(
      await Promise.all(
        viewIndexes.map(async (i) => {
          signal.throwIfAborted();
          return this.bench.withFrame(i, startS, async (frame) => {
            const { clippedHigh } = await this.bench.geometry.measureImage(frame);
            if (clippedHigh > whiteShare)
              throw new CellError(
                "CALIBRATION_REFUSED",
                `${this.name(i)}: ${(100 * clippedHigh).toFixed(1)} % of the pixels are white, ${100 * whiteShare} % are allowed`,
                { remedy: "lower the light or the exposure" },
              );
            return this.finder.find({ width: frame.width, height: frame.height, pixels: frame.pixels });
          });
        }),
      ),
    );
  }

  async grey(
    view: ViewIndex,
    roi: Roi,
    frames: number,
  ): Promise<{ readonly mean: number; readonly clipped: number }> {
    let [mean, clipped] = [0, 0];
    let afterS = this.bench.clock.now();
    for (let k = 0; k < frames; k++)
      await this.bench.withFrame(view, afterS, async (frame) => {
        const metrics = await this.bench.geometry.measureImage(frame, roi);
        mean += metrics.mean / frames;
        clipped = Math.max(clipped, metrics.clippedHigh);
        afterS = frame.hostTimestampS;
      });
    return { mean, clipped };
  }

  async sharpness(view: ViewIndex, roi: Roi): Promise<number> {
    return this.bench.withFrame(view, this.bench.clock.now(), async (frame) => {
      const { tenengrad, mean } = await this.bench.geometry.measureImage(frame, roi);
      return tenengrad / Math.max(1, mean ** 2);
    });
  }

  async exposureUs(view: ViewIndex): Promise<number> {
    return this.bench.devices.microscopes[view].exposureUs();
  }

  async setExposureUs(view: ViewIndex, value: number): Promise<number> {
    const held = await this.bench.devices.microscopes[view].setExposureUs(value);
    await this.bench.clock.sleep(settleS);
    return held;
  }

  private name(view: ViewIndex): string {
    return this.bench.file.microscopes[view].name;
  }

  private requireStandingArm(): void {
    const arm = this.bench.devices.arm.state();
    if (arm?.connected !== true) throw new CellError("LINK_CLOSED", "the arm reports no position");
    if (arm.moving)
      throw new CellError(
        "CALIBRATION_REFUSED",
        "the arm moves; it must stand while the target is measured",
        {
          remedy: "let the arm come to rest, and let nobody else command it",
        },
      );
  }

  /** Brings the glass beside the pattern to a grey level that clips nothing. @throws CellError CALIBRATION_REFUSED */
  async expose(signal: AbortSignal): Promise<void> {
    await Promise.all(viewIndexes.map((i) => this.exposeView(i, signal)));
  }

  private async exposeView(i: ViewIndex, signal: AbortSignal): Promise<void> {
    const microscope = this.bench.devices.microscopes[i];
    const { min, max } = await microscope.exposureBoundsUs();
    let seen = NaN;
    for (let round = 0; round < exposureRounds; round++) {
      signal.throwIfAborted();
      const metrics = await this.bench.withFrame(i, this.bench.clock.now(), (frame) =>
        this.bench.geometry.measureImage(frame),
      );
      // Most of the picture is glass: its median is the glass's grey level.
      seen = metrics.p50;
      if (seen >= whiteBand[0] && seen <= whiteBand[1]) return;
      const factor =
        metrics.clippedHigh > 0.1
          ? exposureFactor(metrics)
          : clamp((whiteGoal - 6) / Math.max(1, seen - 6), 1 / 4, 4);
      const exposure = await microscope.exposureUs();
      const next = clamp(exposure * factor, min, max);
      if (next === exposure) break;
      await this.setExposureUs(i, next);
    }
    throw new CellError(
      "CALIBRATION_REFUSED",
      `${this.name(i)}: the middle grey level is ${seen.toFixed(0)} after ${exposureRounds} exposures; ` +
        `${whiteBand[0]} to ${whiteBand[1]} are needed`,
      {
        remedy:
          "mount the target, set the light so that its glass is bright and not white, take gain off the camera",
      },
    );
  }

  /**
   * Brings the middle of the pattern into focus in both views: the sharpest of a coarse scan, then the blur of the pattern's
   * own edges. @throws CellError CALIBRATION_REFUSED when a view does not show the whole target
   */
  async focus(signal: AbortSignal): Promise<void> {
    const start = this.stand();
    const [width, height] = this.size;
    const roi: Roi = { x: width / 2 - 450, y: height / 2 - 450, width: 900, height: 900 };
    const positions: number[] = [];
    const scores: [number[], number[]] = [[], []];
    for (let off: number = coarse.fromM; off <= coarse.toM + 1e-9; off += coarse.stepM) {
      positions.push(off);
      await this.move(this.within({ focus1: start.focus1 + off, focus2: start.focus2 + off }), signal, false);
      await Promise.all(viewIndexes.map(async (i) => scores[i].push(await this.sharpness(i, roi))));
    }
    const best = viewIndexes.map((i) => {
      const peak = parabolaPeak(scores[i]);
      const at = peak === undefined ? undefined : positions[peak.index];
      if (peak === undefined || at === undefined)
        throw new CellError(
          "CALIBRATION_REFUSED",
          `${this.name(i)}: the sharpest picture lies at an end of the focus scan of ±${coarse.toM * 1e3} mm`,
          {
            remedy: "bring the focus stage nearer to the target by hand, and mount the target in the middle",
          },
        );
      return at + peak.offset * coarse.stepM;
    });
    const middle = { focus1: start.focus1 + (best[0] ?? 0), focus2: start.focus2 + (best[1] ?? 0) };
    await this.move(this.within(middle), signal);
    const blurs: [{ focusM: number; sigmaPx: number }[], { focusM: number; sigmaPx: number }[]] = [[], []];
    for (const off of [-1e-4, 0, 1e-4]) {
      await this.move(this.within({ focus1: middle.focus1 + off, focus2: middle.focus2 + off }), signal);
      const found = await this.look(signal);
      this.requireBoth(found);
      viewIndexes.forEach((i) => {
        blurs[i].push({ focusM: this.stand()[`focus${(i + 1) as 1 | 2}`], sigmaPx: middleBlur(found[i]) });
      });
    }
    const fine = viewIndexes.map((i) => leastBlur(blurs[i]) ?? NaN);
    const off = viewIndexes.map((i) => Math.abs((fine[i] ?? NaN) - middle[`focus${(i + 1) as 1 | 2}`]));
    viewIndexes.forEach((i) => {
      if ((off[i] ?? NaN) < 2e-4) return;
      throw new CellError(
        "CALIBRATION_REFUSED",
        `${this.name(i)}: the blur of the pattern has no minimum where it is sharpest`,
        {
          remedy: "clean the target, and mount it so that both views see it whole",
        },
      );
    });
    await this.move({ focus1: fine[0] ?? NaN, focus2: fine[1] ?? NaN }, signal);
  }

  /** @throws CellError CALIBRATION_REFUSED naming the view that does not show the target */
  requireBoth(found: readonly [FoundTarget, FoundTarget]): void {
    const missing = viewIndexes.filter((i) => !found[i].found);
    if (missing.length === 0) return;
    const names = missing.map((i) => this.name(i)).join(" and ");
    throw new CellError(
      "CALIBRATION_REFUSED",
      missing.length === 1
        ? `the target is seen from one side only: ${names} does not show the pattern`
        : `${names} do not show the pattern`,
      {
        remedy:
          "take needle and tissue away and mount the target so that it faces both microscopes alike, " +
          "all its crossings in both pictures",
      },
    );
  }

  /** @throws CellError CALIBRATION_REFUSED when the target moves while nothing is commanded */
  async requireStill(signal: AbortSignal): Promise<readonly [FoundTarget, FoundTarget]> {
    const before = await this.look(signal);
    this.requireBoth(before);
    const after = await this.look(signal);
    this.requireBoth(after);
    const moved = Math.max(...viewIndexes.map((i) => meanShift(before[i].crossings, after[i].crossings)));
    if (moved > stillPx)
      throw new CellError(
        "CALIBRATION_REFUSED",
        `the target moved by ${moved.toFixed(2)} px between two looks while nothing was commanded; ${stillPx} px is allowed`,
        { remedy: "let the arm come to rest and keep shocks and draughts away from the cell" },
      );
    return after;
  }

  /** Nothing is asked of a stage beyond its limits. */
  private within(to: Partial<Stand>): Partial<Stand> {
    return Object.fromEntries(
      (Object.entries(to) as [keyof Stand, number][]).map(([axis, value]) => {
        const { min, max } = this.limits(axis);
        return [axis, clamp(value, min, max)];
      }),
    );
  }
}

/**
 * Vertex of the parabola through the best of equally spaced scores and its neighbours, in steps from it:
 * δ = ½ (S₋₁ − S₊₁) / (S₋₁ − 2 S₀ + S₊₁), skill-agent.md 13.4. Undefined at an end of the scan.
 */
function parabolaPeak(
  scores: readonly number[],
): { readonly index: number; readonly offset: number } | undefined {
  const index = scores.indexOf(Math.max(...scores));
  const [before, at, after] = [scores[index - 1], scores[index], scores[index + 1]];
  if (before === undefined || at === undefined || after === undefined) return undefined;
  const curvature = before - 2 * at + after;
  return { index, offset: curvature < 0 ? (0.5 * (before - after)) / curvature : 0 };
}

/** Blur in the middle third of the pattern, px. */
function middleBlur({ crossings }: FoundTarget): number {
  const third = Math.floor(crossings.length / 3);
  const values = crossings
    .slice(third, crossings.length - third)
    .flatMap((one) => (one === undefined ? [] : [one.sigmaPx]))
    .sort((a, b) => a - b);
  return values[values.length >> 1] ?? NaN;
}

/** How far the crossings that both have moved in the mean, px. */
function meanShift(a: readonly (Crossing | undefined)[], b: readonly (Crossing | undefined)[]): number {
  let [x, y, n] = [0, 0, 0];
  a.forEach((one, k) => {
    const other = b[k];
    if (one === undefined || other === undefined) return;
    x += other.at[0] - one.at[0];
    y += other.at[1] - one.at[1];
    n++;
  });
  return n === 0 ? Infinity : Math.hypot(x, y) / n;
}
