import t from "tap";
import { explainedIntervals, explainMotions } from "../../../src/lab/evaluation/motion-explained.js";
import type { TruthMotion } from "../../../src/lab/evaluation/truth-client.js";
import { MotionLog } from "../../../src/twin/motion-log.js";
import { logOpened, type AuditEntry } from "../../../src/record/audit-entry.js";

const log = (...entries: [number, string][]): AuditEntry[] =>
  entries.map(([monotonicS, action], i) => ({
    seq: i + 1,
    stream: "test",
    monotonicS,
    wall: "",
    actor: "loop",
    action,
    data: {},
    prev: "",
    hash: "",
  }));
const moved = (startS: number, endS?: number): TruthMotion => ({
  device: "stage",
  axis: 1,
  startS,
  ...(endS === undefined ? {} : { endS }),
  from: 0,
  to: 1,
});

t.test("a motion within a skill, or within the daemon's own setting up, is explained", async (t) => {
  const entries = log(
    [0, logOpened],
    [1, "cell.motion.start"],
    [5, "cell.motion.end"],
    [10, "skill.start"],
    [11, "skill.stage"],
    [15, "skill.end"],
  );
  t.same(explainedIntervals(entries), [
    { fromS: 1, toS: 5 },
    { fromS: 10, toS: 15 },
  ]);
  t.same(explainMotions([moved(1.5, 4), moved(10.1, 15)], entries), []);
  t.same(explainMotions([moved(9.8, 15.3)], entries), [], "encoders notice a little late");
  t.same(explainMotions([moved(7, 7.5)], entries), [moved(7, 7.5)], "between them nothing may move");
  t.same(explainMotions([moved(9, 12)], entries), [moved(9, 12)], "nor begin before its decision");
  t.same(explainMotions([moved(14, 17)], entries), [moved(14, 17)], "nor go on after the end");
  t.same(explainMotions([moved(16)], entries), [moved(16)], "also when it still moves");
});

t.test(
  "a motion that ends with one skill and one that begins with the next are one to the twin",
  async (t) => {
    const entries = (gapS: number): AuditEntry[] =>
      log(
        [0, logOpened],
        [10, "skill.start"],
        [15, "skill.end"],
        [15 + gapS, "skill.start"],
        [20, "skill.end"],
      );
    const across = moved(14, 17);
    t.same(explainMotions([across], entries(0.045)), []);
    t.same(explainMotions([across], entries(0.2)), [across], "a longer pause has an end of the motion in it");
    t.same(
      explainMotions([moved(14, 20.5)], entries(0.045)),
      [moved(14, 20.5)],
      "nor go on after the second",
    );

    // Why: the twin's own log, given two motions with 45 ms of rest between them.
    const twin = new MotionLog();
    for (let k = 0; k <= 300; k++) {
      const timeS = k / 100;
      const position = Math.min(timeS, 1) + Math.max(0, Math.min(timeS, 2) - 1.045);
      twin.observe("stage", 6, position, timeS, 1e-6);
    }
    t.match(twin.all(), [{ startS: 0.01, endS: 2 }]);
    t.equal(twin.all().length, 1);
  },
);

t.test("coming to rest after a stop is explained, a second motion is not", async (t) => {
  const entries = log([0, logOpened], [10, "skill.start"], [12, "operator.stop"], [12.1, "skill.end"]);
  t.same(explainMotions([moved(11, 12.9)], entries), []);
  t.same(explainMotions([moved(14, 14.5)], entries), [moved(14, 14.5)]);
});

t.test("what moved before the log began is not its business", async (t) => {
  t.same(explainMotions([moved(1, 2)], log([10, logOpened])), []);
  t.same(explainMotions([moved(1, 2)], []), []);
});

t.test("a skill that was cut off ends with its log, not with the next one", async (t) => {
  const entries = log(
    [0, logOpened],
    [10, "skill.start"],
    [12, "skill.stage"],
    [60, logOpened],
    [70, "skill.start"],
  );
  t.same(explainMotions([moved(12.2, 12.9)], entries), []);
  t.same(explainMotions([moved(20, 30)], entries), [moved(20, 30)]);
});

t.test("of a daemon that was killed, the guardian's log says when motion was stopped", async (t) => {
  const entries = log([0, logOpened], [10, "skill.start"], [10.2, "skill.stage"], [60, logOpened]);
  t.same(
    explainMotions([moved(10.3, 14.5)], entries),
    [moved(10.3, 14.5)],
    "unexplained by the audit log alone",
  );
  t.same(
    explainMotions([moved(10.3, 14.5)], entries, [14]),
    [],
    "stopped at 14 s and at rest within a second",
  );
  t.same(explainMotions([moved(10.3, 16)], entries, [14]), [moved(10.3, 16)]);
  t.same(explainMotions([moved(10.3, 14.5)], entries, [5, 61]), [moved(10.3, 14.5)], "acts of other runs");
});
