/** Procedures that begin badly, lose a camera on the way, or cannot be completed at all. */
import path from "node:path";
import t from "tap";
import { recordsIn, seed } from "./cell-harness.js";
import { judgeSummary, runDemo } from "./demo-program.js";

const timeout = 400_000;

interface Decision {
  readonly skill: string | null;
  readonly observation: {
    readonly state: Readonly<Record<string, unknown>>;
    readonly visual: { readonly exposureInBand: boolean | "unknown" };
  };
}

t.test("hard: begins badly, loses a camera on the way, and completes", { timeout }, async (t) => {
  const run = await runDemo(t, "--scenario", "hard", "--seed", String(seed));
  judgeSummary(t, run, seed, 3);

  // The record of the planning comes first: it found the cell as the scenario left it.
  const { entries, faults } = await recordsIn(path.dirname(run.summary.recording));
  t.same(faults, [], "every audit log verifies");
  const decisions = entries.filter(({ action }) => action === "decision").map(({ data }) => data as Decision);
  const first = decisions[0];
  t.match(
    first?.observation.state,
    {
      camerasOnline: { view1: true, view2: false },
      nearSingularity: true,
      registered: false,
      aligned: false,
    },
    "began with a camera offline, near a singularity, unregistered and misaligned",
  );
  t.equal(first?.observation.visual.exposureInBand, false, "began over-exposed");
  t.equal(first?.skill, "RECOVER", "recovered first");
  const lost = decisions.slice(1).find(({ observation }) => {
    const online = observation.state["camerasOnline"] as Readonly<Record<string, unknown>>;
    return online["view1"] === false;
  });
  t.equal(lost?.skill, "RECOVER", "lost the other camera on the way, and recovered");
  const succeeded = entries
    .filter(({ action }) => action === "skill.end")
    .map(({ data }) => data as { readonly skill: string; readonly status: string })
    .filter(({ status }) => status === "succeeded")
    .map(({ skill }) => skill);
  t.ok(succeeded.includes("ADJUST_EXPOSURE"), "set the exposure");
  t.equal(succeeded.filter((skill) => skill === "RECOVER").length >= 2, true, "recovered twice");
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
