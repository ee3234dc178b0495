/** Verification on synthetic stages: the same cell passes, a changed one is told by the item that changed. */
import t from "tap";
import { Random } from "../../../src/base/random.js";
import { identity3 } from "../../../src/base/transform.js";
import { beginStages, runStages, type StageState } from "../../../src/lab/calibration/stage-run.js";
import { solveStages } from "../../../src/lab/calibration/stage-solution.js";
import { isVerified, verifyStages } from "../../../src/lab/calibration/stage-verify.js";
import { SyntheticRig, truth, type Truth } from "./synthetic-rig.js";

const seed = 12;
const { signal } = new AbortController();
const context = {
  baseFromHead: identity3,
  viewNames: ["left", "right"] as const,
  measuredAt: "2026-12-01T08:00:00Z",
  expiresAt: "2026-12-31T08:00:00Z",
};

async function observed(known: Truth, stream: string, wants?: typeof isVerified): Promise<StageState> {
  const rig = new SyntheticRig(known, new Random(seed, stream));
  const begun = await beginStages(rig, "lab-a", [], signal);
  const hooks = { onStep: () => undefined, keep: async () => Promise.resolve() };
  return runStages(rig, begun, wants === undefined ? hooks : { ...hooks, wants }, signal);
}

t.test(`what has changed is named, and only that (seed ${seed})`, async (t) => {
  const state = await observed(truth, "stored");
  const items = solveStages(state.observations, { ...context, follow: state.follow });
  const drifted = async (known: Truth, stream: string): Promise<string[]> => {
    const { observations } = await observed(known, stream, isVerified);
    t.ok(observations.length < state.observations.length / 2, "fewer steps than a calibration");
    const findings = verifyStages(observations, items, context);
    t.equal(findings.length, 8, "two maps, three directions, three lost motions");
    return findings.filter(({ passed }) => !passed).map(({ item }) => item);
  };
  t.strictSame(await drifted(truth, "same"), []);
  t.strictSame(await drifted({ ...truth, lostMotionM: 3e-6 }, "worn"), [
    "stage.x.lostMotion",
    "stage.y.lostMotion",
    "stage.z.lostMotion",
  ]);
  const zoomed = { ...truth, metresPerPixel: [1.19e-6, 1.15e-6 * 1.02] } as const;
  const found = await drifted(zoomed, "zoomed");
  t.ok(found.includes("right.map"), "the view that changed");
  t.notOk(found.includes("left.map"), "the other did not");
});
