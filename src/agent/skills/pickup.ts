/**
 * The inner stage "electrode pickup": brings loop k into both views, threads its ring with the hook, lifts it off and
 * makes sure that it really came along. skill-agent.md 14, steps 1–4.
 */
import { CellError } from "../../base/errors.js";
import {
  add,
  apply,
  distance,
  dot,
  norm,
  rotate,
  scale,
  subtract,
  transpose,
  type Vec3,
} from "../../base/transform.js";
import type { RingEstimate, RingModel } from "../../cell/native.js";
import { projectVector, triangulate, type Pixel } from "../perception/view-model.js";
import { refineFocus } from "./adjust-focus.js";
import { barbDirection } from "./hook-check.js";
import { working } from "./limits.js";
import { seenAxis } from "./pose-correction.js";
import { ringOnHook } from "./ring-on-hook.js";
import type { SkillContext } from "./skill.js";
import { asPair, viewIndexes, type Look, type Workbench } from "./workbench.js";

/** Distances of the needle's axis from the ring's plane along the barb, m. */
const distances = {
  /** Where the search begins: clear of the ring whatever the drawing's error. */
  far: 2.6e-4,
  hover: 9e-5,
  /** Needle and barb clear of the rings, on the side where these have no ribbon. */
  outOfRow: 4.5e-4,
  /** Barb through the opening, shank still clear of the wire. */
  engaged: 2.0e-5,
} as const;
/** Where the focus looks for a ring that it did not see, m from the needle's. */
const depthsM = [8e-5, -8e-5, 1.6e-4, -1.6e-4, 2.4e-4, -2.4e-4];
const hoverToleranceM = 1.6e-6;
const liftM = 1.5e-4;
/** Height of the loop over the site while it is picked up, m. */
const pickupHeightM = 6e-4;

export interface Pickup {
  readonly loop: number;
  readonly engaged: boolean;
  readonly detail: string;
}

/** How the ring and its ribbon appear in a view, for a ring in the plane of `y` and `z` (unit, robot coordinates). */
export function ringModel(bench: Workbench, i: 0 | 1, y: Vec3, z: Vec3): RingModel {
  const view = bench.views()[i];
  const { ringInnerM, wireM, ribbonWidthM } = bench.file.cartridge;
  const pixel = 1 / bench.file.microscopes[i].metresPerPixel;
  const ribbon = projectVector(view, y);
  const size = Math.hypot(...ribbon);
  return {
    halfAxisA: projectVector(view, scale(y, ringInnerM.y / 2)),
    halfAxisB: projectVector(view, scale(z, ringInnerM.z / 2)),
    wirePx: wireM * pixel,
    ribbonDirection: [ribbon[0] / size, ribbon[1] / size],
    ribbonWidthPx: ribbonWidthM * pixel,
  };
}

/** A ring this near to where it is expected is the one meant; further out a neighbour may look better. */
const ownRadiusPx = 120;

/** The ring in both views near expected pixels: close by first, then out to `radius` px. */
export async function findRings(
  bench: Workbench,
  near: readonly [Pixel, Pixel],
  radius: number,
  y: Vec3,
  z: Vec3,
): Promise<readonly [RingEstimate, RingEstimate]> {
  const afterS = bench.clock.now();
  return asPair(
    await Promise.all(
      viewIndexes.map((i) =>
        bench.withFrame(i, afterS, async (frame) => {
          const model = ringModel(bench, i, y, z);
          const find = (within: number): Promise<RingEstimate> =>
            bench.geometry.findRing(frame, near[i][0], near[i][1], within, model);
          const own = await find(Math.min(radius, ownRadiusPx));
          return own.found || radius <= ownRadiusPx ? own : find(radius);
        }),
      ),
    ),
  );
}

/**
 * Takes the needle out of the row of rings, on the side where these have no ribbon, unless it stands outside already.
 * `rowY` is where the Y stage stands when the needle is in the row; here by default. Not with the barb in a ring.
 */
export async function leaveRow(
  bench: Pick<Workbench, "stagesFor" | "moveStages"> & {
    readonly devices: { readonly stages: Pick<Workbench["devices"]["stages"], "limits"> };
    readonly file: { readonly stageAxes: Pick<Workbench["file"]["stageAxes"], "y"> };
  },
  signal: AbortSignal,
  rowY: number = bench.stagesFor([0, 0, 0]).y,
): Promise<void> {
  const { min } = bench.devices.stages.limits(bench.file.stageAxes.y);
  const clearY = Math.max(min, rowY - distances.outOfRow);
  if (bench.stagesFor([0, 0, 0]).y > clearY) await bench.moveStages({ y: clearY }, signal, false);
}

/** Loop k's drawn place in the head, corrected by what earlier loops taught. */
const loopInHead = (bench: Workbench, k: number): Vec3 => {
  const { firstLoopM, pitchM } = bench.file.cartridge;
  return add(apply(bench.headFrom("cartridge"), add(firstLoopM, scale(pitchM, k))), bench.session.loopOffset);
};

/** The tip at which the barb's middle stands at `ring` with the needle's axis `along` before its plane. */
function tipFor(bench: Workbench, ring: Vec3, axis: Vec3, barb: Vec3, along: number): Vec3 {
  return add(ring, add(scale(axis, bench.file.needle.hookHeightM), scale(barb, -along)));
}

/**
 * Picks up loop `k` with the needle along `aligned` (robot coordinates). The head must be clear of the tissue; afterwards the needle stands beside the cartridge with the
 * loop on its hook, or without it when the lift test failed.
 */
export async function pickUp(
  bench: Workbench,
  k: number,
  siteM: Vec3,
  aligned: Vec3,
  context: Pick<SkillContext, "signal" | "stage">,
): Promise<Pickup> {
  const { signal } = context;
  const up = bench.up();
  let axis = aligned;

  // Clear of everything, then the cartridge's tilts turn the ring to the needle.
  await context.stage("pickup: raise", { loop: k });
  await bench.moveHeadBy(scale(up, 1.5e-3), signal);
  const { rotation } = bench.baseFromHead();
  const inHead = rotate(transpose(rotation), axis);
  await bench.moveStages(
    { tiltX: Math.atan2(-inHead[1], inHead[2]), tiltY: Math.asin(inHead[0]) },
    signal,
    false,
  );
  const barb = barbDirection(bench, axis);
  const y = rotate(bench.headFrom("cartridge").rotation, [0, 1, 0]);
  const ringY = rotate(rotation, y);
  const ringZ = axis;

  // The needle goes to the loop within the head: out of the row of rings first, away from their ribbons; then to its
  // height, across, and in beside it. Across within the row it would be threaded by whatever ring it meets.
  const loop = loopInHead(bench, k);
  const tipInHead = rotate(
    transpose(rotation),
    subtract(tipFor(bench, [0, 0, 0], axis, barb, distances.far), [0, 0, 0]),
  );
  const wanted = add(loop, tipInHead);
  const now = bench.headFrom("tip").translation;
  const stage = bench.stagesFor([0, 0, 0]);
  const delta = subtract(wanted, now);
  await leaveRow(bench, signal, stage.y + delta[1]);
  await bench.moveStages({ z: stage.z + delta[2] }, signal, false);
  await bench.moveStages({ x: stage.x + delta[0] }, signal, false);
  await bench.moveStages({ y: stage.y + delta[1] }, signal);

  // The arm brings both into the views.
  const goal = add(siteM, scale(up, pickupHeightM));
  const focus = bench.focusFor(goal);
  await bench.moveStages(focus, signal, false);
  await bench.moveHeadBy(subtract(goal, bench.tip()), signal);
  await context.stage("pickup: loop in view", { loop: k });
  await bench.keepFrames("pickup");
  let look = await bench.look(signal, 2);
  if (look.needles.some((needle) => needle.edgeSigmaPx > working.refocusSigmaPx)) {
    await refineFocus(
      bench,
      viewIndexes.map((i) => bench.focusPosition(i)),
      context,
    );
    look = await bench.look(signal, 2);
  }
  bench.anchor(look);
  axis = seenAxis(bench, look);

  const expected = subtract(bench.seenTip(look), tipFor(bench, [0, 0, 0], axis, barb, distances.far));
  const ring = await locateRing(bench, look, expected, ringY, ringZ, 280, signal);
  const offset = rotate(transpose(rotation), subtract(ring, expected));
  // Nearer to a neighbour's place than to its own: that is the neighbour.
  if (norm(offset) > 0.6 * norm(bench.file.cartridge.pitchM))
    throw new CellError(
      "VISION_UNKNOWN",
      `what is seen ${(norm(offset) * 1e6).toFixed(0)} µm from where loop ${k} is drawn is another`,
    );
  bench.session.loopOffset = add(bench.session.loopOffset, offset);
  await context.stage("pickup: ring found", { loop: k, offsetM: [...offset] });

  // Hover: lateral errors must vanish before the barb may enter.
  let at = ring;
  for (let look2 = 0; ; look2++) {
    signal.throwIfAborted();
    const seen = await bench.look(signal, 3);
    bench.anchor(seen);
    at = await locateRing(bench, seen, at, ringY, ringZ, look2 === 0 ? 60 : 30, signal);
    const error = subtract(tipFor(bench, at, axis, barb, distances.hover), bench.seenTip(seen));
    const lateral = norm(subtract(error, scale(barb, dot(error, barb))));
    if (look2 > 0 && lateral < hoverToleranceM) {
      await context.stage("pickup: hover", { loop: k, lateralM: lateral, looks: look2 });
      // From here on the ring may be on the barb, whatever happens: it is no loop of the cartridge any more.
      bench.session.loops.delete(k);
      bench.session.loaded = k;
      await bench.moveTipBy(
        scale(barb, dot(error, barb) + distances.hover - distances.engaged),
        signal,
        false,
        false,
      );
      break;
    }
    if (look2 >= 7)
      throw new CellError(
        "SKILL_NOT_CONVERGED",
        `the hook stays ${(lateral * 1e6).toFixed(1)} µm off the ring of loop ${k}`,
      );
    await bench.moveTipBy(error, signal, look2 === 0);
  }

  // Lift test: the ring must rise with the needle.
  const before = await bench.look(signal, 2);
  await bench.moveTipAlong(scale(axis, -liftM), 1.2e-5, signal);
  await bench.moveStages(bench.focusFor(bench.tip()), signal, false);
  const after = await bench.look(signal, 2);
  bench.anchor(after);
  await bench.keepFrames("lifted");
  const carried = await ringOnHook(bench, after, axis, barb);
  const risen = distance(bench.seenTip(after), bench.seenTip(before));
  await context.stage("pickup: lift test", {
    loop: k,
    carried: carried.seen,
    scores: [...carried.scores],
    risenM: risen,
  });
  if (!carried.seen) bench.session.loaded = undefined;
  return {
    loop: k,
    engaged: carried.seen,
    detail: carried.seen ? `loop ${k} is on the hook` : `loop ${k} did not rise with the needle`,
  };
}

/**
 * The ring in both views; where it is not seen at the focus of the needle, the focus looks before and behind. What is
 * still not seen then is not there. @throws CellError VISION_UNKNOWN naming the view
 */
async function findRingsInDepth(
  bench: Workbench,
  near: readonly [Pixel, Pixel],
  radius: number,
  y: Vec3,
  z: Vec3,
  signal: AbortSignal,
): Promise<readonly [RingEstimate, RingEstimate]> {
  let rings = await findRings(bench, near, radius, y, z);
  if (rings.every((ring) => ring.found)) return rings;
  const focus = asPair(viewIndexes.map((i) => bench.focusPosition(i)));
  try {
    for (const offset of depthsM) {
      signal.throwIfAborted();
      await bench.moveStages({ focus1: focus[0] + offset, focus2: focus[1] + offset }, signal, false);
      const again = await findRings(bench, near, radius, y, z);
      rings = asPair(rings.map((ring, i) => (ring.found ? ring : again[i as 0 | 1])));
      if (rings.every((ring) => ring.found)) return rings;
    }
  } finally {
    if (!signal.aborted) await bench.moveStages({ focus1: focus[0], focus2: focus[1] }, signal, false);
  }
  const i = rings[0].found ? 1 : 0;
  throw new CellError(
    "VISION_UNKNOWN",
    `the loop is not seen in ${bench.file.microscopes[i].name}: ${rings[i].reason}`,
  );
}

/** The ring's centre (robot coordinates, m), searched within `radius` px of where `expected` is seen. */
async function locateRing(
  bench: Workbench,
  look: Look,
  expected: Vec3,
  ringY: Vec3,
  ringZ: Vec3,
  radius: number,
  signal: AbortSignal,
): Promise<Vec3> {
  const near = asPair(
    viewIndexes.map((i): Pixel => {
      const [u, v] = projectVector(bench.views()[i], subtract(expected, bench.seenTip(look)));
      return [look.tips[i][0] + u, look.tips[i][1] + v];
    }),
  );
  const rings = await findRingsInDepth(bench, near, radius, ringY, ringZ, signal);
  return triangulate(bench.views(), asPair(rings.map((ring): Pixel => [ring.x, ring.y]))).point;
}
