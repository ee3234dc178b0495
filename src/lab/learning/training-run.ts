/**
 * One learning run, from warm start to the last point of its curve. Between two points worlds begin anew from a seed that
 * follows from the run's and the point's number, so that a checkpoint needs no state of the simulator: a run that was
 * killed goes on from its last point to the same result, bit for bit.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { replaceFile } from "../../record/durable-file.js";
import { evaluatePolicy } from "./evaluate-policy.js";
import { methods, type Method } from "./methods.js";
import { createLearner, learnerCall, type NativeLearner, type UpdateReport } from "./native-learner.js";
import { encodePolicy } from "./policy-file.js";
import { runFormat, type CurvePoint, type PolicyRun, type RunSettings } from "./run-file.js";
import type { Support } from "./support-columns.js";
import type { VectorEnvironment } from "./vector-environment.js";

export interface TrainingParts {
  readonly settings: RunSettings;
  readonly support: { readonly path: string; readonly content: Support } | undefined;
  /** Worlds to collect in: `settings.environments` of them. */
  readonly collector: VectorEnvironment;
  /** Worlds to evaluate in; they share nothing with the others. */
  readonly evaluator: VectorEnvironment;
  /** Where the run is kept. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onPoint: (point: CurvePoint) => void;
}

/** Streams of seeds for worlds. */
const streams = { collect: 0, evaluate: 1, survey: 2 } as const;

/** A seed of its own for each use: 48 bits of a hash. */
const worldSeed = (seed: number, stream: keyof typeof streams, index: number): number =>
  createHash("sha256").update(`${seed}/${streams[stream]}/${index}`).digest().readUIntBE(0, 6);

/** Updates of one native call: short enough that an interruption is noticed soon. */
const chunk = 250;
/** Steps of each world by which observations are measured where no support does. */
const surveySteps = 200;
/** Observations that hardly vary are not blown up. */
const smallestSpread = 0.1;

interface Progress {
  updates: number;
  transitions: number;
  wallS: number;
  readonly curve: CurvePoint[];
}

/**
 * Runs to the end, or to the next point when the signal is set.
 * @throws CellError LINK_ABORTED when interrupted, LEARNING_DATA_INVALID for observations that are not finite,
 *   CHECKPOINT_INVALID when what is kept belongs to another run
 */
export async function trainPolicy(parts: TrainingParts): Promise<PolicyRun> {
  const { settings, support, folder, evaluator } = parts;
  const method = methods[settings.method];
  requireWorlds(parts);
  await mkdir(folder, { recursive: true });
  const learner = createLearner({
    observationSize: evaluator.observationSize,
    actionSize: evaluator.actionSize,
    hidden: settings.hidden,
    batch: settings.batch,
    gamma: settings.gamma,
    bootstrapAtDone: settings.bootstrapAtDone,
    bankFraction: settings.bankFraction,
    binomialMix: settings.binomialMix,
    cloningWeight: method.cloning ? settings.cloningWeight : 0,
    qFilter: settings.qFilter,
    temperature: settings.temperature,
    seed: settings.seed,
  });
  const { mean, scale } = normaliserOf(
    support?.content.columns.observations ?? survey(learner, parts),
    evaluator.observationSize,
  );
  learnerCall(() => {
    learner.setNormaliser(mean, scale);
    if (support !== undefined) learner.setBank(support.content.columns);
  });
  const kept = await readCheckpoint(parts, learner);
  const progress: Progress = kept ?? { updates: 0, transitions: 0, wallS: 0, curve: [] };
  let began = performance.now();
  const keep = async (report?: UpdateReport): Promise<void> => {
    const evaluation = evaluatePolicy(
      evaluator,
      (observations, actions) => learnerCall(() => learner.act(observations, "evaluate", actions)),
      settings.evaluationEpisodes,
      worldSeed(settings.seed, "evaluate", progress.curve.length),
    );
    const point = { updates: progress.updates, transitions: progress.transitions, ...evaluation, ...report };
    progress.curve.push(point);
    progress.wallS += (performance.now() - began) / 1e3;
    began = performance.now();
    await writeCheckpoint(parts, learner, progress);
    parts.onPoint(point);
  };
  if (kept !== undefined) await publish(parts, learner, progress);
  else {
    const warm = method.warmStart && method.online;
    await keep(warm ? await cloneOnly(learner, settings.warmStart, parts.signal) : undefined);
  }
  while (progress.updates < settings.updates) {
    await breathe(parts.signal);
    const until = Math.min(progress.updates + settings.pointEvery, settings.updates);
    const report = method.online
      ? await collectAndUpdate(parts, method, learner, progress, until)
      : await cloneOnly(learner, until - progress.updates, parts.signal);
    progress.updates = until;
    await keep(report);
  }
  return runOf(parts, learner, progress);
}

function requireWorlds({ settings, collector, evaluator }: TrainingParts): void {
  for (const worlds of [collector, evaluator]) {
    if (worlds.task !== settings.task)
      throw new CellError(
        "COMMAND_INVALID",
        `the worlds are of ${worlds.task}, the run is of ${settings.task}`,
      );
  }
  if (collector.count !== settings.environments)
    throw new CellError("INTERNAL", `${collector.count} worlds instead of ${settings.environments}`);
}

/** Observations under random actions. */
function survey(learner: NativeLearner, { collector, settings }: TrainingParts): Float32Array {
  const width = collector.count * collector.observationSize;
  const seen = new Float32Array(surveySteps * width);
  const actions = new Float32Array(collector.count * collector.actionSize);
  let observations = collector.reset(worldSeed(settings.seed, "survey", 0));
  for (let step = 0; step < surveySteps; step++) {
    seen.set(observations, step * width);
    const now = observations;
    learnerCall(() => learner.act(now, "uniform", actions));
    ({ observations } = collector.step(actions));
  }
  return seen;
}

/** Mean and reciprocal spread of every observed value. */
function normaliserOf(
  observations: Float32Array,
  width: number,
): { readonly mean: Float32Array; readonly scale: Float32Array } {
  const rows = observations.length / width;
  const sums = new Float64Array(width);
  const squares = new Float64Array(width);
  observations.forEach((value, index) => {
    const column = index % width;
    sums[column] = (sums[column] ?? 0) + value;
    squares[column] = (squares[column] ?? 0) + value * value;
  });
  const mean = Float32Array.from(sums, (sum) => sum / rows);
  const scale = Float32Array.from(squares, (square, column) => {
    const variance = square / rows - ((sums[column] ?? 0) / rows) ** 2;
    return 1 / Math.max(Math.sqrt(Math.max(variance, 0)), smallestSpread);
  });
  return { mean, scale };
}

/** Lets signals and timers in between two calls. */
async function breathe(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (signal.aborted) throw new CellError("LINK_ABORTED", "the run was interrupted");
}

async function cloneOnly(
  learner: NativeLearner,
  updates: number,
  signal: AbortSignal,
): Promise<UpdateReport | undefined> {
  let last: UpdateReport | undefined;
  for (let done = 0; done < updates; done += chunk) {
    last = learnerCall(() => learner.clone(Math.min(chunk, updates - done)));
    await breathe(signal);
  }
  return last;
}

/** Steps the worlds, and updates as often as the transitions allow, until `until` updates are done. */
async function collectAndUpdate(
  { settings, collector, signal }: TrainingParts,
  method: Method,
  learner: NativeLearner,
  progress: Progress,
  until: number,
): Promise<UpdateReport | undefined> {
  const { count } = collector;
  const { transitions: per, updates: each } = settings.transitionsPer;
  const actions = new Float32Array(count * collector.actionSize);
  const before = new Float32Array(count * collector.observationSize);
  before.set(collector.reset(worldSeed(settings.seed, "collect", progress.curve.length)));
  const mixed = new ReportMean();
  let sinceBreath = 0;
  while (progress.updates < until) {
    const blind = !method.warmStart && progress.transitions < settings.collectFirst;
    learnerCall(() => learner.act(before, blind ? "uniform" : "explore", actions));
    const { observations, finalObservations, rewards, terminals } = collector.step(actions);
    learnerCall(() => learner.store(before, actions, finalObservations, rewards, terminals));
    before.set(observations);
    progress.transitions += count;
    const due = Math.floor(((progress.transitions - settings.collectFirst) * each) / per);
    const updates = Math.min(due, until) - progress.updates;
    if (updates > 0) {
      mixed.add(
        learnerCall(() => learner.update(updates)),
        updates,
      );
      progress.updates += updates;
    }
    sinceBreath += Math.max(updates, 1);
    if (sinceBreath >= chunk) {
      sinceBreath = 0;
      await breathe(signal);
    }
  }
  return mixed.mean();
}

/** Mean of reports, each counting as often as it has updates. */
class ReportMean {
  private readonly sums = new Map<string, number>();
  private updates = 0;

  add(report: UpdateReport, updates: number): void {
    for (const [key, value] of Object.entries(report) as [string, number][])
      this.sums.set(key, (this.sums.get(key) ?? 0) + value * updates);
    this.updates += updates;
  }

  mean(): UpdateReport | undefined {
    if (this.updates === 0) return undefined;
    const means = [...this.sums].map(([key, sum]) => [key, sum / this.updates]);
    return Object.fromEntries(means) as UpdateReport;
  }
}

const checkpointName = "checkpoint.bin";

/** A line of JSON (run, progress), then the learner's own bytes. One file, so that both are of the same moment. */
async function writeCheckpoint(
  parts: TrainingParts,
  learner: NativeLearner,
  progress: Progress,
): Promise<void> {
  const run = runOf(parts, learner, progress);
  const head = `${canonicalJson({ run, progress })}\n`;
  await replaceFile(
    path.join(parts.folder, checkpointName),
    Buffer.concat([Buffer.from(head, "utf8"), learnerCall(() => learner.save())]),
  );
  await publish(parts, learner, progress);
}

/** What others read of the run. Follows the checkpoint, so that a kill between them is made good when the run goes on. */
async function publish(parts: TrainingParts, learner: NativeLearner, progress: Progress): Promise<void> {
  const run = runOf(parts, learner, progress);
  await replaceFile(path.join(parts.folder, "run.json"), `${JSON.stringify(run, undefined, 1)}\n`);
  const { observationSize, actionSize } = parts.evaluator;
  const about = { task: run.settings.task, run: path.basename(parts.folder), updates: progress.updates };
  const actor = learnerCall(() => learner.actor());
  await replaceFile(
    path.join(parts.folder, "policy.json"),
    encodePolicy({ ...about, observationSize, actionSize }, actor),
  );
}

async function readCheckpoint(parts: TrainingParts, learner: NativeLearner): Promise<Progress | undefined> {
  const file = path.join(parts.folder, checkpointName);
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const end = bytes.indexOf(0x0a);
  let head: { run: PolicyRun; progress: Progress };
  try {
    head = JSON.parse(bytes.subarray(0, Math.max(end, 0)).toString("utf8")) as typeof head;
  } catch (error) {
    throw new CellError("CHECKPOINT_INVALID", `${file}: not a checkpoint`, { cause: error });
  }
  const wanted = runOf(parts, learner, head.progress);
  const about = (run: PolicyRun): Readonly<Record<string, string | undefined>> => ({
    format: run.format,
    settings: canonicalJson(run.settings),
    support: run.support?.sha256,
    // Other vectors give other bits.
    "instruction set": run.instructionSet,
  });
  for (const [key, value] of Object.entries(about(wanted))) {
    if (about(head.run)[key] !== value)
      throw new CellError("CHECKPOINT_INVALID", `${file}: the ${key} is not what this run has`);
  }
  try {
    learnerCall(() => learner.restore(bytes.subarray(end + 1)));
  } catch (error) {
    throw error instanceof CellError ? new CellError(error.code, `${file}: ${error.detail}`) : error;
  }
  return head.progress;
}

function runOf({ settings, support }: TrainingParts, learner: NativeLearner, progress: Progress): PolicyRun {
  return {
    format: runFormat,
    settings,
    support:
      support === undefined
        ? null
        : {
            path: support.path,
            sha256: support.content.sha256,
            source: support.content.source,
            ...(support.content.observer === undefined ? {} : { observer: support.content.observer }),
            episodes: support.content.episodes,
            transitions: support.content.columns.rewards.length,
          },
    instructionSet: learner.instructionSet,
    finished: progress.updates >= settings.updates,
    wallS: progress.wallS,
    curve: progress.curve,
  };
}
