/** Compares a few measurements made anew with a stored calibration: which item still holds, which has drifted. */
import type { CalibrationItem } from "../../base/calibration-file.js";
import { rotate, type Mat3, type Vec3 } from "../../base/transform.js";
import { rms } from "./linear-fit.js";
import { linearStages, type Observation, type Step } from "./stage-plan.js";
import { along, relative } from "./stage-solution.js";

export interface Finding {
  readonly item: string;
  readonly unit: string;
  /** How far the new measurements lie from the stored item. */
  readonly off: number;
  readonly allowed: number;
  readonly passed: boolean;
}

/** The steps of a verification: poses in all directions, and three approaches from both sides of each axis. */
export const isVerified = ({ kind, id }: Pick<Step, "kind" | "id">): boolean =>
  kind === "reference" ||
  kind === "held-out" ||
  ((kind === "below" || kind === "above") && /-[024]$/.test(id));

/** A misfit of the pictures is allowed three times what was left when measured, and arrivals scatter by this at least. */
const leastPx = 1;
const leastLostM = 3e-7;

/** @param items of the stored calibration; those that this cannot judge are left out */
export function verifyStages(
  observations: readonly Observation[],
  items: Readonly<Record<string, CalibrationItem>>,
  context: { readonly baseFromHead: Mat3; readonly viewNames: readonly [string, string] },
): Finding[] {
  const seen = relative(observations);
  const findings: Finding[] = [];
  const judge = (item: string, unit: string, off: number, allowed: number): void => {
    findings.push({ item, unit, off, allowed, passed: off <= allowed });
  };
  const held = seen.filter(({ observation: { kind } }) => kind === "held-out");
  for (const i of [0, 1] as const) {
    const name = `${context.viewNames[i]}.map`;
    const stored = items[name];
    if (stored === undefined) continue;
    const misfits = held.flatMap(({ observation, tips }) => {
      const { x, y, z } = observation.offsets;
      const moved: Vec3 = rotate(context.baseFromHead, [x, y, z]);
      return ([0, 1] as const).map((k) => {
        const predicted = moved.reduce((sum, m, j) => sum + m * (stored.values[3 * k + j] ?? NaN), 0);
        return tips[i][k] - predicted;
      });
    });
    judge(name, "px", rms(centred(misfits)), Math.max(leastPx, 3 * stored.residuals.rms));
  }
  for (const axis of linearStages) {
    const of = (kind: Observation["kind"]): typeof seen =>
      seen.filter(({ observation }) => observation.kind === kind && observation.axis === axis);
    const direction = items[`stage.${axis}.direction`];
    if (direction === undefined) continue;
    const below = of("below");
    const misfits = below.flatMap(({ observation, tips }) =>
      tips.flat().map((value, j) => value - (direction.values[j] ?? NaN) * observation.offsets[axis]),
    );
    judge(
      `stage.${axis}.direction`,
      "px",
      rms(centred(misfits)),
      Math.max(leastPx, 3 * direction.residuals.rms),
    );
    const stored = items[`stage.${axis}.lostMotion`];
    if (stored === undefined) continue;
    const lost = of("above").flatMap((one) => {
      const id = one.observation.id.replace("above", "below");
      const other = below.find(({ observation }) => observation.id === id);
      if (other === undefined) return [];
      const between = one.tips.flat().map((value, j) => value - (other.tips.flat()[j] ?? NaN));
      return [along(direction.values, between)];
    });
    const mean = lost.reduce((sum, v) => sum + v, 0) / lost.length;
    const variance =
      lost.reduce((sum, v) => sum + (v - mean) ** 2, 0) / Math.max(1, lost.length - 1) / lost.length;
    const sigma = Math.sqrt(variance + (stored.covariance[0]?.[0] ?? NaN));
    judge(
      `stage.${axis}.lostMotion`,
      "m",
      Math.abs(mean - (stored.values[0] ?? NaN)),
      Math.max(leastLostM, 4 * sigma),
    );
  }
  return findings;
}

/** The looks at the origin scatter, too: what they have in common with all others is no drift. By image coordinate of two. */
function centred(values: readonly number[]): number[] {
  const means = [0, 1].map((k) => {
    const own = values.filter((_, j) => j % 2 === k);
    return own.reduce((sum, v) => sum + v, 0) / own.length;
  });
  return values.map((value, j) => value - (means[j % 2] ?? NaN));
}
