import t from "tap";
import { executionsOf } from "../../../src/lab/evaluation/executions.js";
import type { AuditEntry } from "../../../src/record/audit-entry.js";

const entry = (monotonicS: number, action: string, data: object): AuditEntry => ({
  seq: 1,
  stream: "test",
  monotonicS,
  wall: "",
  actor: "loop",
  action,
  data,
  prev: "",
  hash: "",
});

t.test(
  "stages and end belong to the execution of their decision; a log that ends first leaves it broken off",
  async (t) => {
    const [first, second, ...more] = executionsOf([
      entry(1, "skill.start", { decisionId: "a", skill: "X" }),
      entry(2, "skill.stage", { decisionId: "a", stage: "one", measurements: { value: 3 } }),
      entry(3, "skill.stage", { decisionId: "unknown", stage: "foreign" }),
      entry(4, "skill.end", {
        decisionId: "a",
        status: "failed",
        detail: "why",
        measurements: { framesUsed: 7 },
      }),
      entry(5, "skill.start", { decisionId: "b", skill: "Y" }),
      entry(6, "skill.stage", { decisionId: "b", stage: "two" }),
    ]);
    t.same(more, []);
    t.same(first, {
      skill: "X",
      startS: 1,
      endS: 4,
      status: "failed",
      detail: "why",
      measurements: { framesUsed: 7 },
      stages: [{ atS: 2, name: "one", measurements: { value: 3 } }],
    });
    t.match(second, { skill: "Y", status: "broken off", stages: [{ name: "two", measurements: {} }] });
  },
);
