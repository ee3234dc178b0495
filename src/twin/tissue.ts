/**
 * The tissue phantom: a gently tilted surface with vessels, registration marks, dust and fluid, which breathes and
 * pulsates. Material points are (u, v) in the surface, metres.
 */
import { Random } from "../base/random.js";
import { add, dot, scale, subtract, unit, type Vec3 } from "../base/transform.js";
import type { Scenario } from "./scenario.js";
import type { TrueCell, TrueTissue } from "./true-cell.js";

export interface Vessel {
  readonly points: readonly (readonly [number, number])[];
  readonly radiusM: number;
  readonly darkness: number;
}

export interface Spot {
  readonly u: number;
  readonly v: number;
  readonly radiusM: number;
  readonly strength: number;
}

export interface Phantom {
  readonly vessels: readonly Vessel[];
  readonly marks: readonly Spot[];
  readonly fluid: readonly Spot[];
}

/** Displacement of the surface, periodic; 0 is end-expiration without pulse. */
export interface TissueMotion {
  readonly breathingHz: number;
  /** Peak to peak, m. */
  readonly breathingM: number;
  readonly breathingDirection: Vec3;
  readonly breathingPhase: number;
  readonly pulseHz: number;
  readonly pulseM: number;
  readonly pulseDirection: Vec3;
  readonly pulsePhase: number;
}

/** Draws vessels as smooth random walks over the field; the largest cross it, the smaller end inside. */
export function drawPhantom(scenario: Scenario, seed: number): Phantom {
  const random = new Random(seed, "phantom");
  const vessels: Vessel[] = [];
  for (let i = 0; i < scenario.vessels; i++) {
    const radiusM = i < 2 ? random.uniform(5e-5, 9e-5) : random.uniform(1.2e-5, 4e-5);
    let heading = random.uniform(0, 2 * Math.PI);
    // Starts outside the field on the side it comes from, aimed past the centre.
    const aside = random.uniform(-0.0012, 0.0012);
    let u = -0.003 * Math.cos(heading) - aside * Math.sin(heading);
    let v = -0.003 * Math.sin(heading) + aside * Math.cos(heading);
    const step = 1e-4;
    const count = i < 2 ? 60 : 25 + random.below(35);
    const points: [number, number][] = [];
    let bend = 0;
    for (let k = 0; k < count; k++) {
      points.push([u, v]);
      bend = 0.8 * bend + random.normal(0, 0.06);
      heading += bend;
      u += step * Math.cos(heading);
      v += step * Math.sin(heading);
    }
    vessels.push({ points, radiusM, darkness: random.uniform(0.35, 0.6) });
  }
  const marks = [-1, 1].flatMap((a) =>
    [-1, 1].map((b): Spot => ({ u: a * 7e-4, v: b * 7e-4, radiusM: 3e-5, strength: 0.85 })),
  );
  const fluid = Array.from({ length: 2 }, (): Spot => {
    const angle = random.uniform(0, 2 * Math.PI);
    const away = random.uniform(8e-4, 1.4e-3);
    return {
      u: away * Math.cos(angle),
      v: away * Math.sin(angle),
      radiusM: random.uniform(1e-4, 2.5e-4),
      strength: random.uniform(0.3, 0.7),
    };
  });
  return { vessels, marks, fluid };
}

export function drawMotion(cell: TrueCell, scenario: Scenario, seed: number): TissueMotion {
  const random = new Random(seed, "motion");
  const im = scenario.imperfections;
  const mainlyNormal = (): Vec3 => unit(add(cell.tissue.normal, scale(random.direction(), 0.2)));
  return {
    breathingHz: random.uniform(...im.breathingHz),
    breathingM: random.uniform(...im.breathingM),
    breathingDirection: mainlyNormal(),
    breathingPhase: random.uniform(0, 1),
    pulseHz: random.uniform(...im.pulseHz),
    pulseM: random.uniform(...im.pulseM),
    pulseDirection: mainlyNormal(),
    pulsePhase: random.uniform(0, 1),
  };
}

/**
 * Displacement at `timeS`, world, m. Breathing rests at end-expiration for much of its cycle: a squared raised cosine;
 * the pulse is a sharp rise and a slower fall (fundamental and second harmonic, zero mean).
 */
export function tissueShift(motion: TissueMotion, timeS: number): Vec3 {
  const raised = 0.5 - 0.5 * Math.cos(2 * Math.PI * (motion.breathingHz * timeS + motion.breathingPhase));
  const angle = 2 * Math.PI * (motion.pulseHz * timeS + motion.pulsePhase);
  // Peak to peak of sin x + 0.35 sin 2x is 2.345.
  const beat = (Math.sin(angle) + 0.35 * Math.sin(2 * angle)) / 2.345;
  return add(
    scale(motion.breathingDirection, motion.breathingM * raised * raised),
    scale(motion.pulseDirection, motion.pulseM * beat),
  );
}

/** Height of a world point above the displaced surface, m; negative inside. */
export function heightAbove(tissue: TrueTissue, shift: Vec3, point: Vec3): number {
  return dot(tissue.normal, subtract(point, add(tissue.origin, shift)));
}

/** Material point under a world point that lies in the displaced surface. */
export function materialPoint(tissue: TrueTissue, shift: Vec3, point: Vec3): [number, number] {
  const local = subtract(point, add(tissue.origin, shift));
  return [dot(tissue.uAxis, local), dot(tissue.vAxis, local)];
}

/** Where a line meets the displaced surface, world; undefined when it runs along it. */
export function pierce(tissue: TrueTissue, shift: Vec3, point: Vec3, direction: Vec3): Vec3 | undefined {
  const fall = dot(tissue.normal, direction);
  if (Math.abs(fall) < 1e-6) return undefined;
  return add(point, scale(direction, -heightAbove(tissue, shift, point) / fall));
}

/** Whether a round needle of this radius through (u, v) touches a vessel, and the clearance to the nearest, m. */
export function vesselClearance(phantom: Phantom, u: number, v: number): number {
  let nearest = Infinity;
  for (const vessel of phantom.vessels)
    for (let i = 1; i < vessel.points.length; i++) {
      const [au, av] = vessel.points[i - 1] ?? [0, 0];
      const [bu, bv] = vessel.points[i] ?? [0, 0];
      const du = bu - au;
      const dv = bv - av;
      const k = Math.min(1, Math.max(0, ((u - au) * du + (v - av) * dv) / (du * du + dv * dv)));
      nearest = Math.min(nearest, Math.hypot(u - au - k * du, v - av - k * dv) - vessel.radiusM);
    }
  return nearest;
}
