/**
 * Carries out a calibration of the needle: the direction in which its images lie, and where its drive takes the tip, both
 * against the axes of the stages. In air: the tip is raised by more than the drive reaches.
 */
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { add, scale } from "../../base/transform.js";
import type { HeadRig } from "./head-rig.js";
import { centreTip } from "./tip-centring.js";

const pixel = z.tuple([z.number(), z.number()]);
const pair = z.tuple([pixel, pixel]);

const lookSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(["fitted", "held-out"]),
  /** Of the drive, m from where it stood. */
  strokeM: z.number(),
  tips: pair,
  directions: pair,
});
export type NeedleLook = z.output<typeof lookSchema>;

/** What an interrupted run leaves, beside the output. */
export const needleStateSchema = z.strictObject({
  version: z.literal(1),
  cell: z.string(),
  /** Where the stages hold the needle, m; where its drive stands withdrawn, m. */
  stages: z.tuple([z.number(), z.number(), z.number()]),
  withdrawnM: z.number(),
  looks: z.array(lookSchema),
});
export type NeedleState = z.output<typeof needleStateSchema>;

export interface PlannedLook {
  readonly id: string;
  readonly kind: NeedleLook["kind"];
  readonly strokeM: number;
}

const longestM = 2e-4;
/** The tip goes up by this before it is driven down, m: it never comes lower than it was seen. */
const raisedM = 2.5e-4;

/** Twice out and back: looks on the way back are held out. */
export function planNeedle(): PlannedLook[] {
  const plan: PlannedLook[] = [];
  for (const round of [0, 1]) {
    [0, 1, 2, 3, 4].forEach((k) =>
      plan.push({ id: `out-${round}-${k}`, kind: "fitted", strokeM: (k / 4) * longestM }),
    );
    [3.5, 2.5, 1.5, 0.5].forEach((k, n) =>
      plan.push({ id: `back-${round}-${n}`, kind: "held-out", strokeM: (k / 4) * longestM }),
    );
  }
  return plan;
}

export interface NeedleHooks {
  /** Before each look. */
  readonly onLook: (done: number, total: number, look: PlannedLook) => Promise<void> | void;
  /** After each look. */
  readonly keep: (state: NeedleState) => Promise<void>;
}

/** @throws CellError CALIBRATION_REFUSED with what was measured, what is needed and what to do; VISION_UNKNOWN */
export async function beginNeedle(rig: HeadRig, cell: string, signal: AbortSignal): Promise<NeedleState> {
  await centreTip(rig, signal);
  const raise = scale(rig.up(), raisedM);
  await rig.moveStages(add(rig.stages(), raise), raise, signal);
  rig.setHome();
  return { version: 1, cell, stages: [...rig.stages()], withdrawnM: rig.needle(), looks: [] };
}

/** So far may the stages stand from where an interrupted run had them, m: nothing of them is measured. */
const sameStagesM = 2e-6;

/** Makes every look that is not made yet; the needle ends withdrawn, where it began. @throws CellError of rig and devices */
export async function runNeedle(
  rig: HeadRig,
  begun: NeedleState,
  hooks: NeedleHooks,
  signal: AbortSignal,
): Promise<NeedleState> {
  const plan = planNeedle();
  let state = begun;
  const off = Math.max(...rig.stages().map((at, k) => Math.abs(at - (begun.stages[k] ?? NaN))));
  if (!(off <= sameStagesM))
    throw new CellError(
      "CALIBRATION_REFUSED",
      `the stages stand ${(off * 1e6).toFixed(1)} µm from where the interrupted run had them; ${sameStagesM * 1e6} µm are allowed`,
      { remedy: "begin anew with --fresh" },
    );
  const seen = new Set(state.looks.map(({ id }) => id));
  try {
    for (const [done, planned] of plan.entries()) {
      if (seen.has(planned.id)) continue;
      await hooks.onLook(done, plan.length, planned);
      signal.throwIfAborted();
      await rig.moveNeedle(state.withdrawnM + planned.strokeM, signal);
      // The focus follows the tip down: out of focus it is found displaced along the needle.
      await rig.moveStages(begun.stages, scale(rig.up(), -planned.strokeM), signal);
      const { tips, directions } = await rig.look(signal);
      const copy = ([a, b]: typeof tips): NeedleLook["tips"] => [
        [a[0], a[1]],
        [b[0], b[1]],
      ];
      const look: NeedleLook = {
        id: planned.id,
        kind: planned.kind,
        strokeM: rig.needle() - state.withdrawnM,
        tips: copy(tips),
        directions: copy(directions),
      };
      state = { ...state, looks: [...state.looks, look] };
      await hooks.keep(state);
    }
  } finally {
    if (!signal.aborted) await rig.moveNeedle(state.withdrawnM, signal);
  }
  const lower = scale(rig.up(), -raisedM);
  await rig.moveStages(add(begun.stages, lower), lower, signal);
  return state;
}
