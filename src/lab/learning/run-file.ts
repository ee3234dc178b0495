/** What is kept of a learning run: settings, curve and outcome, one JSON file a run, written anew at each point of the curve. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import { explainIssues, formatProblems } from "../../base/yaml-file.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { methodNames } from "./methods.js";

export const runFormat = "surgiclaw.policy-run/1";
export const runsFolder = path.join(projectRoot, "runs", "policy");

export const settingsSchema = z.strictObject({
  task: z.string(),
  method: z.enum(methodNames),
  seed: z.int().min(0),
  /** Of learning proper; the warm start comes before them. */
  updates: z.int().min(1),
  warmStart: z.int().min(0),
  /** Worlds that step together. */
  environments: z.int().min(1),
  /** Environment transitions per update, as the two whole numbers of a fraction. */
  transitionsPer: z.strictObject({ transitions: z.int().min(1), updates: z.int().min(1) }),
  /** Transitions before the first update. */
  collectFirst: z.int().min(1),
  /** Updates between two points of the curve; a checkpoint is written at each. */
  pointEvery: z.int().min(1),
  evaluationEpisodes: z.int().min(1),
  hidden: z.array(z.int().min(16)).min(1),
  batch: z.int().min(1),
  gamma: z.number(),
  bootstrapAtDone: z.boolean(),
  bankFraction: z.number(),
  binomialMix: z.boolean(),
  cloningWeight: z.number(),
  qFilter: z.boolean(),
  temperature: z.number(),
});
export type RunSettings = z.infer<typeof settingsSchema>;

const supportSchema = z.strictObject({
  path: z.string(),
  sha256: z.string(),
  source: z.string(),
  observer: z.string().optional(),
  episodes: z.int(),
  transitions: z.int(),
});

const pointSchema = z.strictObject({
  updates: z.int().min(0),
  transitions: z.int().min(0),
  successes: z.int().min(0),
  episodes: z.int().min(1),
  /** Mean of the undiscounted reward. */
  meanReturn: z.number(),
  /** Of the updates since the last point; absent where there were none of them. */
  criticLoss: z.number().optional(),
  actorLoss: z.number().optional(),
  cloningLoss: z.number().optional(),
  kept: z.number().optional(),
  temperature: z.number().optional(),
  entropy: z.number().optional(),
  meanQ: z.number().optional(),
});
export type CurvePoint = z.infer<typeof pointSchema>;

const runSchema = z.strictObject({
  format: z.literal(runFormat),
  settings: settingsSchema,
  support: supportSchema.nullable(),
  /** Vectors that the learner computed with: results are the same bits only with the same. */
  instructionSet: z.string(),
  finished: z.boolean(),
  /** Of learning and collecting together, over all parts of an interrupted run. */
  wallS: z.number().min(0),
  curve: z.array(pointSchema),
});
export type PolicyRun = z.infer<typeof runSchema>;

/** Names a run by what it is: the same settings and support are the same run, and go on where they were. */
export function runId(settings: RunSettings, support: PolicyRun["support"]): string {
  const what = canonicalJson({ settings, support: support?.sha256 ?? null });
  const hash = createHash("sha256").update(what).digest("hex").slice(0, 10);
  return `${settings.task}-${settings.method}-${settings.seed}-${hash}`;
}

/** @throws CellError RUN_FILE_INVALID, CONFIG_UNREADABLE */
export async function readRun(file: string): Promise<PolicyRun> {
  let data: unknown;
  try {
    data = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CellError("CONFIG_UNREADABLE", `${file}: ${String(error)}`, { cause: error });
  }
  const result = runSchema.safeParse(data);
  if (!result.success) {
    const problems = explainIssues(result.error, runSchema, data).slice(0, 10);
    throw new CellError("RUN_FILE_INVALID", formatProblems(file, problems));
  }
  return result.data;
}

/** All runs of a folder that have a point of their curve, by name. */
export async function readRuns(folder: string): Promise<PolicyRun[]> {
  const names = await readdir(folder).catch(() => []);
  const runs: PolicyRun[] = [];
  for (const name of names.sort()) {
    const file = path.join(folder, name, "run.json");
    const there = await readFile(file, "utf8").then(
      () => true,
      () => false,
    );
    if (there) runs.push(await readRun(file));
  }
  return runs;
}
