/**
 * Carries out a hand-eye calibration. The needle's tip is a point, and a point has no orientation; but X, Y, Z carry the tip
 * along the axes of the head, so a few stage positions at every pose of the arm show how the head is turned. The arm turns
 * the head about the tip in small steps, and the stages bring the tip back into the middle of the pictures after each.
 */
import { z } from "zod";
import {
  add,
  multiply,
  norm,
  rotationFromVector,
  scale,
  transpose,
  vectorFromRotation,
  type Mat3,
  type Vec3,
} from "../../base/transform.js";
import { CellError } from "../../base/errors.js";
import { requireIndependentRotations } from "./hand-eye.js";
import type { HeadLook, HeadRig } from "./head-rig.js";
import { centreTip, returnTip } from "./tip-centring.js";

const vec3 = z.tuple([z.number(), z.number(), z.number()]);
const pixel = z.tuple([z.number(), z.number()]);
const tips = z.tuple([pixel, pixel]);

const poseSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["fitted", "held-out"]),
  /** baseFromFlange as reported, m and rad. */
  translationM: vec3,
  rotationVectorRad: vec3,
  /** Stage positions (m) and what was seen there (px). */
  points: z.array(z.strictObject({ stages: vec3, tips })),
});
export type PoseObservation = z.output<typeof poseSchema>;

/** What an interrupted run leaves, beside the output. */
export const handEyeStateSchema = z.strictObject({
  version: z.literal(1),
  cell: z.string(),
  tiltRad: z.number(),
  twistRad: z.number(),
  /** Orientation of the flange at the start: the poses are turned from it. */
  homeVectorRad: vec3,
  /** Where the tip is brought back to, px. */
  goals: tips,
  poses: z.array(poseSchema),
});
export type HandEyeState = z.output<typeof handEyeStateSchema>;

export interface HandEyePose {
  readonly id: string;
  readonly kind: PoseObservation["kind"];
  /** Rotation vector from the orientation at the start, flange frame, rad. */
  readonly turn: Vec3;
}

export interface HandEyeAmplitudes {
  /** About the two axes across the needle. */
  readonly tiltRad: number;
  /** About the needle. */
  readonly twistRad: number;
}

export const usualAmplitudes: HandEyeAmplitudes = { tiltRad: 0.15, twistRad: 0.24 };
/** Further the flange would leave the cell's box, and the shank the pictures. */
export const greatestAmplitudes: HandEyeAmplitudes = { tiltRad: 0.2, twistRad: 0.4 };

/** Shares of tilt, tilt and twist, in an order of short ways. */
const shares: readonly (readonly [PoseObservation["kind"], number, number, number])[] = [
  ["fitted", 0, 0, 0],
  ["fitted", 1, 0, 0.5],
  ["held-out", 0.6, 0.6, 0.7],
  ["fitted", 0, 1, 1],
  ["fitted", -1, 0, 0.5],
  ["held-out", -0.7, -0.3, 0],
  ["fitted", 0, -1, -0.5],
  ["fitted", 0.5, -0.5, -1],
  ["held-out", 0.5, 0.4, -0.6],
  ["fitted", 0, 1, -0.5],
  ["fitted", -0.6, 0.5, 0],
];

/** @throws CellError CALIBRATION_REFUSED when the planned turns do not determine the result */
export function planHandEye({ tiltRad, twistRad }: HandEyeAmplitudes): HandEyePose[] {
  let fitted = 0;
  let left = 0;
  const poses = shares.map(([kind, x, y, z]): HandEyePose => {
    const id = kind === "fitted" ? `pose-${fitted++}` : `held-out-${left++}`;
    return { id, kind, turn: [x * tiltRad, y * tiltRad, z * twistRad] };
  });
  requireIndependentRotations(
    poses.filter(({ kind }) => kind === "fitted").map(({ turn }) => rotationFromVector(turn)),
  );
  return poses;
}

/** Stage positions at a pose, m from its middle: the middle, and a tetrahedron, whose every slope all four points tell. */
const reachM = 3e-4;
/** All of it lies this much higher: no stage position is deeper than the middle by more than the difference. */
const raisedM = 2.5e-4;
const constellation: readonly Vec3[] = [
  [0, 0, 0],
  [reachM, reachM, reachM],
  [reachM, -reachM, -reachM],
  [-reachM, reachM, -reachM],
  [-reachM, -reachM, reachM],
];

/** One turn of the arm is at most this, rad: by what the drawing has wrong, the tip strays 0.2 mm at most. */
const stepRad = 0.06;

export interface HandEyeHooks {
  /** Before each pose. */
  readonly onPose: (done: number, total: number, pose: HandEyePose) => Promise<void> | void;
  /** After each pose. */
  readonly keep: (state: HandEyeState) => Promise<void>;
}

/** @throws CellError CALIBRATION_REFUSED with what was measured, what is needed and what to do; VISION_UNKNOWN */
export async function beginHandEye(
  rig: HeadRig,
  cell: string,
  amplitudes: HandEyeAmplitudes,
  signal: AbortSignal,
): Promise<HandEyeState> {
  planHandEye(amplitudes);
  const [left, right] = await centreTip(rig, signal);
  return {
    version: 1,
    cell,
    ...amplitudes,
    homeVectorRad: [...vectorFromRotation(rig.flange().rotation)],
    goals: [[...left], [...right]],
    poses: [],
  };
}

/** Visits every pose that has no observation yet, and comes back to the first. @throws CellError of rig and devices */
export async function runHandEye(
  rig: HeadRig,
  begun: HandEyeState,
  hooks: HandEyeHooks,
  signal: AbortSignal,
): Promise<HandEyeState> {
  const poses = planHandEye(begun);
  const home = rotationFromVector(begun.homeVectorRad);
  let state = begun;
  const seen = new Set(state.poses.map(({ id }) => id));
  if (seen.size > 0) {
    // The run before may have ended anywhere: the tip first, and what is sharp now is sharp there.
    await returnTip(rig, state.goals, signal);
    rig.setHome();
  }
  for (const [done, pose] of poses.entries()) {
    if (seen.has(pose.id)) continue;
    await hooks.onPose(done, poses.length, pose);
    signal.throwIfAborted();
    await turnTo(rig, multiply(home, rotationFromVector(pose.turn)), state.goals, signal);
    state = { ...state, poses: [...state.poses, await observe(rig, pose, signal)] };
    await hooks.keep(state);
  }
  await turnTo(rig, home, state.goals, signal);
  return state;
}

/** Turns the flange to an orientation in small steps about the tip; after each the tip is brought back. */
async function turnTo(
  rig: HeadRig,
  wanted: Mat3,
  goals: HeadLook["tips"],
  signal: AbortSignal,
): Promise<void> {
  for (let turns = 0; turns < 40; turns++) {
    const left = vectorFromRotation(multiply(transpose(rig.flange().rotation), wanted));
    const angle = norm(left);
    if (angle < 1e-3) {
      await returnTip(rig, goals, signal);
      return;
    }
    await rig.turn(scale(left, 1 / Math.ceil(angle / stepRad)), signal);
    await returnTip(rig, goals, signal);
  }
  throw new CellError("CALIBRATION_REFUSED", "the arm does not come to the orientation it is sent to", {
    remedy: "does the arm follow its commands?",
  });
}

async function observe(rig: HeadRig, pose: HandEyePose, signal: AbortSignal): Promise<PoseObservation> {
  const middle = rig.stages();
  const { rotation, translation } = rig.flange();
  const points: PoseObservation["points"] = [];
  const raise = scale(rig.up(), raisedM);
  for (const corner of constellation) {
    const offset = add(corner, raise);
    await rig.moveStages(add(middle, offset), offset, signal);
    const look = await rig.look(signal);
    points.push({ stages: [...rig.stages()], tips: [[...look.tips[0]], [...look.tips[1]]] });
  }
  await rig.moveStages(middle, [0, 0, 0], signal);
  return {
    id: pose.id,
    kind: pose.kind,
    translationM: [...translation],
    rotationVectorRad: [...vectorFromRotation(rotation)],
    points,
  };
}
