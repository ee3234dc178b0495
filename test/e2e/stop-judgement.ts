/** Judges a stop by what the twin saw: when each device came to rest, and whether the record explains every motion. */
import { actsOf } from "../../src/lab/evaluation/guardian-log.js";
import { explainMotions } from "../../src/lab/evaluation/motion-explained.js";
import type { TruthMotion } from "../../src/lab/evaluation/truth-client.js";
import { systemClock } from "../../src/base/clock.js";
import { patience, type CellHarness, type Tap } from "./cell-harness.js";

/** From the daemon's silence to rest, deceleration and the guardian's retraction included, s. */
export type RestLimits = Readonly<Record<TruthMotion["device"], number>>;

/** After the end of the process: the guardian acts at once, the arm's control program after 0.25 s of silence. */
export const killLimits: RestLimits = { stage: 0.3, needle: 0.3, arm: 0.6 };

/** After the event loop has stood: its own limit (guardian.eventLoopMs) comes on top for what the guardian stops. */
export const blockLimits: RestLimits = { stage: 0.6, needle: 0.6, arm: 0.6 };

const describe = ({ device, axis, startS, endS }: TruthMotion, sinceS: number): string =>
  `${device} ${axis}: ${(startS - sinceS).toFixed(3)} to ${((endS ?? NaN) - sinceS).toFixed(3)} s`;

/** The motions that were under way at a moment (the twin looks every 10 ms). */
export const underWay = (
  motions: readonly TruthMotion[],
  device: TruthMotion["device"],
  atS: number,
): TruthMotion[] =>
  motions.filter(
    (motion) => motion.device === device && motion.startS <= atS && (motion.endS ?? Infinity) >= atS - 0.03,
  );

/** Every motion that goes on or begins after `silentS` has ended within its limit, and nothing follows. */
export async function judgeRest(
  test: Tap,
  cell: CellHarness,
  silentS: number,
  limits: RestLimits,
): Promise<readonly TruthMotion[]> {
  await cell.atRest(patience.stopS);
  // Whatever might still come would have come by now.
  await systemClock.sleep(1.5);
  const motions = await cell.atRest(patience.stopS);
  const after = motions.filter(({ endS }) => (endS ?? Infinity) > silentS);
  for (const motion of after) {
    const restS = (motion.endS ?? Infinity) - silentS;
    test.comment(describe(motion, silentS));
    test.ok(
      restS <= limits[motion.device],
      `${motion.device} ${motion.axis} at rest after ${restS.toFixed(3)} s`,
    );
  }
  return motions;
}

/** The chain verifies, and it explains together with the guardian's log every motion that the twin saw. */
export async function judgeRecord(test: Tap, cell: CellHarness): Promise<void> {
  const { entries, faults } = await cell.records();
  test.same(faults, [], "the audit log verifies");
  const acted = actsOf(await cell.guardianLog());
  const motions = await cell.truth.motions();
  const firstS = entries[0]?.monotonicS ?? Infinity;
  test.same(
    motions.filter(({ startS }) => startS < firstS).map((motion) => describe(motion, firstS)),
    [],
    "nothing moved before the first entry",
  );
  test.ok(motions.length > 0, "the twin saw motions");
  test.same(
    explainMotions(motions, entries, acted).map((motion) => describe(motion, firstS)),
    [],
    "the record explains every motion",
  );
}

/** The needle stands outside of the tissue; `entered`: it had been inside. */
export async function judgeNeedleOut(test: Tap, cell: CellHarness, entered: boolean): Promise<void> {
  const passages = (await cell.truth.events()).filter(({ kind }) => /^(entered|left)-tissue$/.test(kind));
  test.equal(
    passages.length > 0,
    entered,
    entered ? "the needle had been in the tissue" : "never in the tissue",
  );
  if (entered) test.equal(passages.at(-1)?.kind, "left-tissue", "the needle was withdrawn");
}
