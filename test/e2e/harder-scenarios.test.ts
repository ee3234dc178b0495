/** Procedures that begin badly, lose a camera on the way, or cannot be completed at all. */
import t from "tap";
import { seed } from "./cell-harness.js";
import { judgeSummary, runDemo } from "./demo-program.js";

const timeout = 400_000;

t.test("hard: blurred, over-exposed, near a singularity, cameras lost; completes", { timeout }, async (t) => {
  const run = await runDemo(t, "--scenario", "hard", "--seed", String(seed));
  judgeSummary(t, run, seed, 3);
  t.match(run.output, /RECOVER succeeded/, "recovered on the way");
  t.match(run.output, /ADJUST_EXPOSURE succeeded/, "set the exposure");
  t.match(run.output, /ADJUST_FOCUS succeeded/, "set the focus");
});

t.test("needle-broken: SAFE_STOP and a person is asked, with the reason", { timeout }, async (t) => {
  const { code, output, summary } = await runDemo(t, "--scenario", "needle-broken", "--seed", String(seed));
  t.equal(code, 3, "waits for an operator");
  t.match(
    summary,
    {
      completed: false,
      state: "stopped",
      reason: /needle|hook/,
      dispatchedViolations: 0,
      unexplainedMotions: 0,
      takeovers: 0,
    },
    "ended by a stop that names the needle",
  );
  t.match(output, /SAFE_STOP succeeded/, "stopped");
  t.notMatch(output, /ALIGN_NEEDLE started|INSERT started/, "nothing was attempted with it");
  t.ok(summary.cycles < 10, `ends in ${summary.cycles} cycles, not in a loop`);
});
