/** Brings the needle's tip to where a calibration of the head begins: still, clear of the tissue, in the middle of the pictures. */
import { CellError } from "../../base/errors.js";
import { leastSquares } from "../../base/least-squares.js";
import { add, dot, norm, scale, type Vec3 } from "../../base/transform.js";
import type { HeadLook, HeadRig } from "./head-rig.js";

/** Two looks at a standing tip may differ by this, px. */
const stillPx = 3;
/** The tip hangs in the upper part of the pictures: turns of the head make it stray, and the tissue is below. */
const goalHeight = 0.4;
/** So far may X, Y, Z bring the tip at once, m: the loops of the cartridge are 3 mm away. */
const longestM = 1.2e-3;
/** Near enough, px. */
export const centredPx = 25;

/** @throws CellError CALIBRATION_REFUSED when the tip moves while nothing is commanded */
export async function requireStillTip(rig: HeadRig, signal: AbortSignal): Promise<HeadLook> {
  const [a, b] = [await rig.look(signal), await rig.look(signal)];
  const moved = Math.max(
    ...([0, 1] as const).map((i) => Math.hypot(a.tips[i][0] - b.tips[i][0], a.tips[i][1] - b.tips[i][1])),
  );
  if (moved > stillPx)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `the tip moved by ${moved.toFixed(1)} px between two looks while nothing was commanded; ${stillPx} px are allowed`,
      { remedy: "let the arm come to rest and keep shocks and draughts away from the cell" },
    );
  return b;
}

/** Displacement in the head that takes the tip's image from where it is to the goals, least squares, m. */
function towards(rig: HeadRig, tips: HeadLook["tips"], goals: HeadLook["tips"]): Vec3 {
  const missing = ([0, 1] as const).flatMap((i) => ([0, 1] as const).map((k) => goals[i][k] - tips[i][k]));
  const { x } = leastSquares(
    rig.motion().map((row) => row.map((value) => value * 1e-3)),
    missing,
    1e-3,
  );
  const [a = NaN, b = NaN, c = NaN] = x;
  return scale([a, b, c], 1e-3);
}

const missingPx = (tips: HeadLook["tips"], goals: HeadLook["tips"]): number =>
  Math.max(...([0, 1] as const).map((i) => Math.hypot(tips[i][0] - goals[i][0], tips[i][1] - goals[i][1])));

function requireShort(delta: Vec3): void {
  if (norm(delta) <= longestM) return;
  throw new CellError(
    "CALIBRATION_REFUSED",
    `the tip lies ${(norm(delta) * 1e3).toFixed(2)} mm from where it is needed; ${longestM * 1e3} mm are allowed`,
    { remedy: "bring the tip nearer to the middle of both pictures" },
  );
}

/**
 * Brings the tip to the upper part of both pictures and to their middle, the focus following: up first, then across. A tip
 * that an earlier run left higher comes down to there.
 * @returns where the tip is seen then
 */
export async function centreTip(rig: HeadRig, signal: AbortSignal): Promise<HeadLook["tips"]> {
  let look = await requireStillTip(rig, signal);
  const goal = [rig.size[0] / 2, goalHeight * rig.size[1]] as const;
  for (let round = 0; round < 3; round++) {
    const up = rig.up();
    const delta = towards(rig, look.tips, [goal, goal]);
    const rise = dot(delta, up);
    requireShort(delta);
    if (round > 0 && norm(delta) < 3e-5) break;
    rig.setHome();
    const start = rig.stages();
    const raised = scale(up, Math.max(0, rise));
    await rig.moveStages(add(start, raised), raised, signal);
    await rig.moveStages(add(start, delta), delta, signal);
    look = await rig.look(signal);
  }
  rig.setHome();
  return look.tips;
}

/**
 * After the head has turned: the stages bring the tip back to where it was seen. The focus stays, as the place does.
 * @throws CellError CALIBRATION_REFUSED when the tip does not come
 */
export async function returnTip(
  rig: HeadRig,
  goals: HeadLook["tips"],
  signal: AbortSignal,
): Promise<HeadLook> {
  let look = await rig.look(signal);
  for (let round = 0; round < 4; round++) {
    if (missingPx(look.tips, goals) < centredPx) return look;
    const delta = towards(rig, look.tips, goals);
    requireShort(delta);
    await rig.moveStages(add(rig.stages(), delta), [0, 0, 0], signal);
    look = await rig.look(signal);
  }
  throw new CellError(
    "CALIBRATION_REFUSED",
    `after four moves of the stages the tip is still ${missingPx(look.tips, goals).toFixed(0)} px from where it was; ` +
      `${centredPx} px are needed`,
    { remedy: "do the stages move, and is it the needle that both pictures show?" },
  );
}
