/** What changed between two calibrations: in units, and in standard deviations of both measurements together. */
import { calibrationItems, type Calibration } from "../../base/calibration-file.js";

export interface CalibrationChange {
  /** Item, with the index of the value where it has several: `view1.map[3]`. */
  readonly name: string;
  readonly unit: string;
  /** Missing where the item is new. */
  readonly before?: number;
  /** Missing where the item is gone. */
  readonly after?: number;
  readonly change?: number;
  /** |change| / √(variance before + variance after); missing where neither has a variance, as of drawn edges. */
  readonly sigmas?: number;
}

export interface CalibrationDiff {
  readonly changes: readonly CalibrationChange[];
  /** Values that are the same in both. */
  readonly unchanged: number;
  /** Devices whose serial number differs, or which only one of them names. */
  readonly devices: readonly {
    readonly device: string;
    readonly before?: string;
    readonly after?: string;
  }[];
}

interface Value {
  readonly unit: string;
  readonly value: number;
  readonly variance: number;
}

function valuesOf(calibration: Calibration): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [name, item] of Object.entries(calibrationItems(calibration)))
    item.values.forEach((value, k) => {
      const key = item.values.length === 1 ? name : `${name}[${k}]`;
      values.set(key, { unit: item.unit, value, variance: item.covariance[k]?.[k] ?? NaN });
    });
  for (const { frame, translationM, rotationVectorRad } of calibration.edges)
    for (const [what, unit, vector] of [
      ["translation", "m", translationM],
      ["rotation", "rad", rotationVectorRad],
    ] as const)
      vector.forEach((value, k) => values.set(`edge.${frame}.${what}[${k}]`, { unit, value, variance: 0 }));
  return values;
}

function changeOf(
  name: string,
  before: Value | undefined,
  after: Value | undefined,
): CalibrationChange | undefined {
  if (before !== undefined && after !== undefined && before.unit === after.unit) {
    const change = after.value - before.value;
    if (change === 0) return undefined;
    const variance = before.variance + after.variance;
    return {
      name,
      unit: after.unit,
      before: before.value,
      after: after.value,
      change,
      ...(variance > 0 ? { sigmas: Math.abs(change) / Math.sqrt(variance) } : {}),
    };
  }
  // A unit that changed makes numbers that cannot be compared.
  return {
    name,
    unit: [before?.unit, after?.unit].filter((unit) => unit !== undefined).join(" → "),
    ...(before === undefined ? {} : { before: before.value }),
    ...(after === undefined ? {} : { after: after.value }),
  };
}

export function diffCalibrations(before: Calibration, after: Calibration): CalibrationDiff {
  const [a, b] = [valuesOf(before), valuesOf(after)];
  const names = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) =>
    x.localeCompare(y, "en", { numeric: true }),
  );
  const all = names.map((name) => changeOf(name, a.get(name), b.get(name)));
  const changes = all.filter((change) => change !== undefined);
  const serials = (calibration: Calibration): Map<string, string> =>
    new Map(
      calibration.method === "measured"
        ? Object.entries(calibration.devices).map(([device, { serial }]) => [device, serial])
        : [],
    );
  const [had, has] = [serials(before), serials(after)];
  const devices = [...new Set([...had.keys(), ...has.keys()])]
    .filter((device) => had.get(device) !== has.get(device))
    .map((device) => {
      const [was, is] = [had.get(device), has.get(device)];
      return {
        device,
        ...(was === undefined ? {} : { before: was }),
        ...(is === undefined ? {} : { after: is }),
      };
    });
  return { changes, unchanged: all.length - changes.length, devices };
}
