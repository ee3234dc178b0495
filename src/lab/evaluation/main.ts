#!/usr/bin/env node
/**
 * Evaluates one recorded procedure against the twin's truth and writes the summary:
 * `node dist/src/lab/evaluation/main.js --truth ipc://… --recording DIR --summary FILE`.
 */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { rejudgeRecord } from "../../agent/loop/rejudge.js";
import { procedureSchema } from "../../agent/procedure/schema.js";
import { working } from "../../agent/skills/limits.js";
import { asCellError } from "../../base/errors.js";
import { loadYaml } from "../../base/yaml-file.js";
import { readAuditLog } from "../../record/audit-verify.js";
import { actsOf, readGuardianLog } from "./guardian-log.js";
import { explainMotions } from "./motion-explained.js";
import { evaluateTargets } from "./procedure-evaluation.js";
import { TruthClient } from "./truth-client.js";

const { values } = parseArgs({
  options: {
    truth: { type: "string" },
    recording: { type: "string" },
    summary: { type: "string" },
    "wall-s": { type: "string" },
  },
});

async function main(): Promise<void> {
  const { truth: endpoint, recording, summary: file } = values;
  if (endpoint === undefined || recording === undefined)
    throw new RangeError("--truth ENDPOINT and --recording DIR are needed");
  const audit = path.join(recording, "audit.jsonl");
  const { good } = await readAuditLog(audit);
  const procedure = (
    await loadYaml(path.join(recording, "procedure.yaml"), procedureSchema, {
      unreadable: "PROCEDURE_UNREADABLE",
      invalid: "PROCEDURE_UNREADABLE",
    })
  ).value;
  const truth = new TruthClient(endpoint);
  try {
    const scene = await truth.scene();
    const counts = JSON.parse(await readFile(path.join(recording, "summary.json"), "utf8")) as {
      outcome: string;
      state: string;
      reason: string;
      counts: {
        cycles: number;
        refusals: Record<string, number>;
        takeovers: number;
        blockedViolations: number;
      };
    };
    const rejudged = await rejudgeRecord(audit);
    const guardian = await readGuardianLog(path.join(path.dirname(recording), "guardian.log"));
    const unexplained = explainMotions(await truth.motions(), good, actsOf(guardian));
    for (const motion of unexplained)
      process.stderr.write(`nothing on record explains this motion: ${JSON.stringify(motion)}\n`);
    const first = good[0]?.monotonicS ?? 0;
    const last = good.at(-1)?.monotonicS ?? 0;
    const summary = {
      seed: scene.seed,
      scenario: scene.scenario,
      completed: counts.outcome === "completed",
      state: counts.state,
      reason: counts.reason,
      targets: await evaluateTargets(truth, procedure, good, working.standoffM),
      cycles: counts.counts.cycles,
      refusals: counts.counts.refusals,
      blockedViolations: counts.counts.blockedViolations,
      dispatchedViolations: rejudged.violations.length,
      takeovers: counts.counts.takeovers,
      unexplainedMotions: unexplained.length,
      wallS: values["wall-s"] === undefined ? last - first : Number(values["wall-s"]),
      recording,
    };
    const text = `${JSON.stringify(summary, undefined, 2)}\n`;
    if (file !== undefined) await writeFile(file, text);
    process.stdout.write(text);
  } finally {
    truth.close();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`evaluation: ${asCellError(error).message}\n`);
  process.exitCode = 1;
}
