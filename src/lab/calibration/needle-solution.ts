/** What the looks of a needle calibration tell: its axis and the way of its drive, in the axes of the stages. */
import type { CalibrationItem } from "../../base/calibration-file.js";
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import { angleBetween, dot, norm, scale, subtract, unit, type Vec3 } from "../../base/transform.js";
import { directionFromImages, type ViewPair } from "../../agent/perception/view-model.js";
import { fitLinear, propagate, rms } from "./linear-fit.js";
import type { NeedleLook } from "./needle-run.js";

export interface NeedleContext {
  /** The views as known, for directions in the head: rows in the head's axes, px/m. */
  readonly viewsInHead: ViewPair;
  readonly measuredAt: string;
  readonly expiresAt: string;
}

export interface NeedleSolution {
  readonly items: Readonly<Record<string, CalibrationItem>>;
  /** Unit, out of the tip, axes of the stages. */
  readonly axis: Vec3;
  /** Displacement of the tip per metre of the drive. */
  readonly stroke: Vec3;
}

const mm = 1e3;
/** The drive must take the tip as far as it says, to this share: beyond it the views' scale or the drive is wrong. */
const strokeTolerance = 0.08;

const mean3 = (list: readonly Vec3[]): Vec3 => {
  const at = (k: 0 | 1 | 2): number => list.reduce((sum, v) => sum + v[k], 0) / list.length;
  return [at(0), at(1), at(2)];
};

/**
 * The axis of each look is the cross product of the planes that its images span with the optical axes, the tip's place by least
 * squares of four image coordinates (skill-agent.md 13.1); the way of the drive is the line through its places.
 * @throws CellError CALIBRATION_REFUSED when the drive does not take the tip where it says; CALIBRATION_ILL_POSED
 */
export function solveNeedle(looks: readonly NeedleLook[], context: NeedleContext): NeedleSolution {
  const { viewsInHead } = context;
  const fitted = looks.filter(({ kind }) => kind === "fitted");
  const held = looks.filter(({ kind }) => kind === "held-out");
  const rows = viewsInHead.flatMap((view) => view.rows.map((row) => row.map((v) => v / mm)));
  const [first] = fitted;
  if (first === undefined || held.length === 0)
    throw new CellError("CALIBRATION_ILL_POSED", `${fitted.length} looks to fit, ${held.length} held out`);
  const place = ({ tips }: NeedleLook): Vec3 => {
    const moved = tips.flat().map((value, n) => value - (first.tips.flat()[n] ?? NaN));
    const { x } = leastSquares(rows, moved, 1e-3);
    return scale([x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN], 1 / mm);
  };
  const axisOf = ({ directions }: NeedleLook): Vec3 => directionFromImages(viewsInHead, directions);

  const axes = fitted.map(axisOf);
  const axis = unit(mean3(axes));
  const scatter = axes.map((one) => subtract(one, axis));
  const covariance = ([0, 1, 2] as const).map((i) =>
    ([0, 1, 2] as const).map(
      (j) => scatter.reduce((sum, v) => sum + v[i] * v[j], 0) / (axes.length - 1) / axes.length,
    ),
  );
  const axesLeft = held.map((look) => angleBetween(axisOf(look), axis));

  const lines = ([0, 1, 2] as const).map((k) =>
    fitLinear(
      fitted.map(({ strokeM }) => [strokeM * mm, 1]),
      fitted.map((look) => place(look)[k] * mm),
    ),
  );
  const at = (k: 0 | 1 | 2, n: 0 | 1): number => lines[k]?.x[n] ?? NaN;
  const stroke: Vec3 = [at(0, 0), at(1, 0), at(2, 0)];
  const length = norm(stroke);
  if (!(Math.abs(length - 1) <= strokeTolerance))
    throw new CellError(
      "CALIBRATION_REFUSED",
      `the tip went ${length.toFixed(3)} m per metre of the drive; 1 ± ${strokeTolerance} is needed`,
      {
        remedy: "measure the stages first; does the drive move, and is it the needle that the pictures show?",
      },
    );
  const strokeCovariance = ([0, 1, 2] as const).map((i) =>
    ([0, 1, 2] as const).map((j) => (i === j ? (lines[i]?.covariance[0]?.[0] ?? NaN) : 0)),
  );
  const strokeLeft = held.map((look): Vec3 => {
    const { strokeM } = look;
    const seen = place(look);
    const predicted = ([0, 1, 2] as const).map((k) => at(k, 0) * strokeM + at(k, 1) / mm);
    return [
      seen[0] - (predicted[0] ?? NaN),
      seen[1] - (predicted[1] ?? NaN),
      seen[2] - (predicted[2] ?? NaN),
    ];
  });
  const common = {
    measurements: fitted.length,
    measuredAt: context.measuredAt,
    expiresAt: context.expiresAt,
  };
  const angle = (x: readonly number[]): number[] => [
    angleBetween([x[0] ?? NaN, x[1] ?? NaN, x[2] ?? NaN], [x[3] ?? NaN, x[4] ?? NaN, x[5] ?? NaN]),
  ];
  const both = [...axis, ...stroke];
  const bothCovariance = both.map((_, i) =>
    both.map((__, j) => {
      if (Math.floor(i / 3) !== Math.floor(j / 3)) return 0;
      return (i < 3 ? covariance : strokeCovariance)[i % 3]?.[j % 3] ?? NaN;
    }),
  );
  const angleResiduals: CalibrationItem["residuals"] = {
    unit: "rad",
    rms: rms(axesLeft),
    max: Math.max(...axesLeft),
    heldOut: axesLeft.length,
  };
  return {
    axis,
    stroke,
    items: {
      "needle.axis": {
        unit: "1",
        values: [...axis],
        covariance,
        residuals: angleResiduals,
        method:
          "direction of the needle out of its tip, axes of the stages X, Y, Z; from its line in both views",
        ...common,
      },
      "needle.stroke": {
        unit: "m/m",
        values: [...stroke],
        covariance: strokeCovariance,
        residuals: {
          unit: "m",
          rms: rms(strokeLeft.map((v) => norm(v))),
          max: Math.max(...strokeLeft.map((v) => norm(v))),
          heldOut: strokeLeft.length,
          points: held.map(({ strokeM }, k) => ({
            at: [strokeM],
            // Along the way of the drive, then across it.
            off: [
              dot(strokeLeft[k] ?? [NaN, NaN, NaN], scale(stroke, 1 / length)),
              Math.sqrt(
                Math.max(
                  0,
                  norm(strokeLeft[k] ?? [NaN, NaN, NaN]) ** 2 -
                    dot(strokeLeft[k] ?? [NaN, NaN, NaN], scale(stroke, 1 / length)) ** 2,
                ),
              ),
            ],
          })),
          pointUnit: "m",
        },
        method:
          "displacement of the tip per metre of the needle's drive, axes of the stages X, Y, Z; residuals on the way back",
        ...common,
      },
      "needle.misalignment": {
        unit: "rad",
        values: angle(both),
        covariance: propagate(angle, both, bothCovariance, new Array<number>(6).fill(1e-5)),
        residuals: angleResiduals,
        method: "angle between the needle and the way of its drive",
        ...common,
      },
    },
  };
}
