/**
 * Carries out a registration: the needle's tip is the fiducial. X, Y, Z bring it to places that are reported in coordinates of
 * the robot and seen in both views; between the arrivals the arm goes away and comes back, as it will in work.
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import {
  add,
  norm,
  rotationFromVector,
  scale,
  subtract,
  vectorFromRotation,
  type Vec3,
} from "../../base/transform.js";
import { multiply, transpose } from "../../base/transform.js";
import type { HeadRig } from "./head-rig.js";
import { centreTip } from "./tip-centring.js";

const vec3 = z.tuple([z.number(), z.number(), z.number()]);
const pixel = z.tuple([z.number(), z.number()]);

const arrivalSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["fitted", "held-out"]),
  points: z.array(
    z.strictObject({
      /** X, Y, Z as reported, m. */
      stages: vec3,
      /** The tip in the arm's base as reported, m. */
      tip: vec3,
      /** px. */
      tips: z.tuple([pixel, pixel]),
    }),
  ),
});
export type Arrival = z.output<typeof arrivalSchema>;

/** What an interrupted run leaves, beside the output. */
export const registrationStateSchema = z.strictObject({
  version: z.literal(1),
  cell: z.string(),
  /** Where the arm comes back to, m and rad. */
  flangeM: vec3,
  flangeVectorRad: vec3,
  middle: vec3,
  arrivals: z.array(arrivalSchema),
});
export type RegistrationState = z.output<typeof registrationStateSchema>;

/** How far the arm goes away, m. */
export const awayM = 0.022;
/** The arm must stand where an interrupted run had it, m and rad. */
const sameArm = { m: 1e-3, rad: 1e-3 } as const;

export interface PlannedArrival {
  readonly id: string;
  readonly kind: Arrival["kind"];
  /** Places of the tip from the middle: across, across, and away from the tissue; m. */
  readonly places: readonly Vec3[];
}

const fiducials: readonly Vec3[] = [
  [3e-4, 3e-4, 0],
  [-3e-4, 3e-4, 3e-4],
  [-3e-4, -3e-4, 0],
  [3e-4, -3e-4, 3e-4],
  [0, 0, 4e-4],
];
const targets: readonly Vec3[] = [
  [0, 0, 1.5e-4],
  [2e-4, 1e-4, 1e-4],
  [-2e-4, 2e-4, 0.5e-4],
  [1e-4, -2.5e-4, 2e-4],
  [-1e-4, -1e-4, 2.5e-4],
];

/** Three arrivals to fit, three held out: one alone would carry the scatter of one arrival into everything. */
export const planRegistration = (): PlannedArrival[] => [
  ...[0, 1, 2].map((k) => ({ id: `fitted-${k}`, kind: "fitted" as const, places: fiducials })),
  ...[0, 1, 2].map((k) => ({ id: `held-out-${k}`, kind: "held-out" as const, places: targets })),
];

export interface RegistrationHooks {
  /** Before each arrival. */
  readonly onArrival: (done: number, total: number, arrival: PlannedArrival) => Promise<void> | void;
  /** After each arrival. */
  readonly keep: (state: RegistrationState) => Promise<void>;
}

/** @throws CellError CALIBRATION_REFUSED with what was measured, what is needed and what to do; VISION_UNKNOWN */
export async function beginRegistration(
  rig: HeadRig,
  cell: string,
  signal: AbortSignal,
): Promise<RegistrationState> {
  await centreTip(rig, signal);
  const { rotation, translation } = rig.flange();
  return {
    version: 1,
    cell,
    flangeM: [...translation],
    flangeVectorRad: [...vectorFromRotation(rotation)],
    middle: [...rig.stages()],
    arrivals: [],
  };
}

function requireSameArm(rig: HeadRig, { flangeM, flangeVectorRad }: RegistrationState): void {
  const { rotation, translation } = rig.flange();
  const offM = norm(subtract(translation, flangeM));
  const offRad = norm(vectorFromRotation(multiply(rotation, transpose(rotationFromVector(flangeVectorRad)))));
  if (offM <= sameArm.m && offRad <= sameArm.rad) return;
  throw new CellError(
    "CALIBRATION_REFUSED",
    `the flange stands ${(offM * 1e3).toFixed(2)} mm and ${offRad.toFixed(4)} rad from where the interrupted run had it; ` +
      `${sameArm.m * 1e3} mm and ${sameArm.rad} rad are allowed`,
    { remedy: "bring the arm back, or begin anew with --fresh" },
  );
}

/** Makes every arrival that has no observation yet; ends in the middle. @throws CellError of rig and devices */
export async function runRegistration(
  rig: HeadRig,
  begun: RegistrationState,
  hooks: RegistrationHooks,
  signal: AbortSignal,
): Promise<RegistrationState> {
  const plan = planRegistration();
  let state = begun;
  const seen = new Set(state.arrivals.map(({ id }) => id));
  if (seen.size > 0) {
    requireSameArm(rig, state);
    // Sharp is what the run before left in the middle, or what was brought into focus since.
    rig.setHome();
    await rig.moveStages(state.middle, subtract(state.middle, rig.stages()), signal);
    rig.setHome();
  }
  for (const [done, planned] of plan.entries()) {
    if (seen.has(planned.id)) continue;
    await hooks.onArrival(done, plan.length, planned);
    signal.throwIfAborted();
    if (done > 0) await rig.awayAndBack(awayM, signal);
    state = { ...state, arrivals: [...state.arrivals, await visit(rig, planned, state.middle, signal)] };
    await hooks.keep(state);
  }
  return state;
}

async function visit(
  rig: HeadRig,
  { id, kind, places }: PlannedArrival,
  middle: Vec3,
  signal: AbortSignal,
): Promise<Arrival> {
  const up = rig.up();
  const points: Arrival["points"] = [];
  for (const [x, y, height] of places) {
    const offset = add([x, y, 0], scale(up, height));
    await rig.moveStages(add(middle, offset), offset, signal);
    const { tips } = await rig.look(signal);
    points.push({ stages: [...rig.stages()], tip: [...rig.tip()], tips: [[...tips[0]], [...tips[1]]] });
  }
  await rig.moveStages(middle, [0, 0, 0], signal);
  return { id, kind, points };
}
