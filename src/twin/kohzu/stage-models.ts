/**
 * Mechanics of the stages in the reference cell. Figures are those of sister models of the same series (XA05A-R102,
 * SA07A-RT02) where the data sheet of the model itself is not public; travel is an assumption.
 */

export interface StageModel {
  readonly name: string;
  readonly kind: "linear" | "goniometer";
  /** Metres or radians per pulse. */
  readonly step: number;
  /** Limit switches, hard stops: distance from the middle of the travel, metres or radians. */
  readonly limit: number;
  readonly hardStop: number;
  /** A limit switch lets go this far inside the place where it closed. */
  readonly limitHysteresis: number;
  /** The near-origin sensor covers this much on the CW side of its edge, which is zero; undefined: none is fitted. */
  readonly nearOriginWidth: number | undefined;
  /** An origin mark (ORG) from here to there; most stages have none. */
  readonly originMark?: readonly [number, number];
  /** An encoder: one count is this long at multiplier 4, and it has one mark a turn of the screw. */
  readonly encoder?: { readonly count: number };
  /** Standard deviation of the place where the sensor's edge is found. */
  readonly originNoise: number;
  /** Motion lost when the direction turns. */
  readonly lostMotion: number;
  /** Half the spread of arrivals: each arrival lies uniformly within ± this. */
  readonly repeatability: number;
  /** Slow position error over the travel: amplitude range and period range. */
  readonly slowError: { readonly amplitude: Range; readonly period: Range };
  /** Error that repeats with each turn of the screw or worm. */
  readonly screwError: { readonly amplitude: Range; readonly period: number };
  /** Goniometers: the centre of rotation wanders on a circle of this radius over the travel, m. */
  readonly centreWanderM: number;
}

type Range = readonly [number, number];

const degree = Math.PI / 180;

/** Linear stage, full step of a 0.5 mm screw: lost motion ≤ 1 µm, lead error ≤ 6 µm per 15 mm, ±0.3 µm. */
export const xa04aR102: StageModel = {
  name: "XA04A-R102",
  kind: "linear",
  step: 0.5e-6,
  limit: 7.5e-3,
  hardStop: 7.9e-3,
  limitHysteresis: 50e-6,
  nearOriginWidth: 0.4e-3,
  originNoise: 0.2e-6,
  lostMotion: 0.9e-6,
  repeatability: 0.3e-6,
  slowError: { amplitude: [1.6e-6, 2.5e-6], period: [12e-3, 20e-3] },
  screwError: { amplitude: [0.1e-6, 0.4e-6], period: 0.5e-3 },
  centreWanderM: 0,
};

function swivel(name: string, stepDegrees: number, limitDegrees: number): StageModel {
  return {
    name,
    kind: "goniometer",
    step: stepDegrees * degree,
    limit: limitDegrees * degree,
    hardStop: (limitDegrees + 0.5) * degree,
    limitHysteresis: 0.05 * degree,
    nearOriginWidth: 0.5 * degree,
    originNoise: 0.0004 * degree,
    lostMotion: 0.0027 * degree,
    repeatability: 0.001 * degree,
    slowError: { amplitude: [0.002 * degree, 0.004 * degree], period: [14 * degree, 24 * degree] },
    screwError: { amplitude: [0.0005 * degree, 0.001 * degree], period: 1.53 * degree },
    centreWanderM: 25e-6,
  };
}

/** Two-axis swivel stage about one common centre: the upper axis, and the lower one with the larger radius. */
export const sa07aRm02Upper = swivel("SA07A-RM02 upper", 0.0015, 10);
export const sa07aRm02Lower = swivel("SA07A-RM02 lower", 0.0012, 8);

/** Axes 1–7 of the reference cell: X, Y, Z, tilt about x, tilt about y, focus of view 1, focus of view 2. */
export const referenceCellStages: readonly StageModel[] = [
  xa04aR102,
  xa04aR102,
  xa04aR102,
  sa07aRm02Upper,
  sa07aRm02Lower,
  xa04aR102,
  xa04aR102,
];
