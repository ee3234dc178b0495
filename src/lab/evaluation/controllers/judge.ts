/**
 * Judges one trial of the controllers. When things happened is read in the audit logs, how well in the twin's truth; success
 * is the published criterion (skill-agent.md 4.3 and 10), applied to the truth.
 */
import path from "node:path";
import { loadYaml } from "../../../base/yaml-file.js";
import { add, dot, scale, subtract } from "../../../base/transform.js";
import { procedureSchema, type Procedure } from "../../../agent/procedure/schema.js";
import { published, working } from "../../../agent/skills/limits.js";
import { Skill } from "../../../agent/safety/skill-names.js";
import type { AuditEntry } from "../../../record/audit-entry.js";
import { readAuditLog } from "../../../record/audit-verify.js";
import { executionsOf, type Execution, type Stage } from "../executions.js";
import { evaluateTargets, pickedPoint, type TargetResult } from "../procedure-evaluation.js";
import type { TruthClient, TruthMotion, TruthSample, TruthScene } from "../truth-client.js";
import { seenAt, tissuePoint } from "../truth-geometry.js";
import type {
  ControllerName,
  ControllerOutcome,
  ErrorName,
  JudgementRequest,
  Trial,
} from "./controller-trial.js";

/** A focus counts as found within this share of the depth of field: the blur at its end is 1.2 px. */
const depthOfFieldM = 5e-5;
/** Arms and stages ramp down; what still moves after this was not stopped, s. */
const standstillS = 0.5;

const views = [0, 1] as const;

const missed = (failure: string): ControllerOutcome => ({
  success: false,
  errors: {},
  timeS: null,
  frames: null,
  failure,
});

function framesOf(execution: Execution): number | null {
  const value = execution.measurements["framesUsed"];
  return typeof value === "number" ? value : null;
}

/** An execution judged: it must have succeeded by its own word and by the truth. */
function judged(
  execution: Execution,
  errors: Partial<Record<ErrorName, number>>,
  wrong: string | undefined,
  span: { readonly fromS: number; readonly toS: number } = { fromS: execution.startS, toS: execution.endS },
): ControllerOutcome {
  const failure = execution.status === "succeeded" ? wrong : reasonOf(execution);
  return {
    success: failure === undefined,
    errors,
    timeS: span.toS - span.fromS,
    frames: framesOf(execution),
    failure: failure ?? null,
  };
}

/** `not_converged: ...`, with figures left out, so that equal reasons group. */
function reasonOf({ status, detail }: Execution): string {
  return `${status.replaceAll("_", " ")}: ${detail.replaceAll(/-?\d+(\.\d+)?/g, "#").slice(0, 90)}`;
}

const entriesOf = async (recording: string | null): Promise<readonly AuditEntry[]> =>
  recording === null ? [] : (await readAuditLog(path.join(recording, "audit.jsonl"))).good;

const firstOf = (executions: readonly Execution[], skill: string): Execution | undefined =>
  executions.find((execution) => execution.skill === skill);

/** @throws Error when the truth of a moment that is needed is no longer kept */
export async function judgeTrial(truth: TruthClient, request: JudgementRequest): Promise<Trial> {
  const planning = executionsOf(await entriesOf(request.planning));
  const entries = await entriesOf(request.procedure);
  const executions = executionsOf(entries);
  const notReached = missed(`not reached: ${request.ended ?? "no reason given"}`);
  // The planning sets exposure and focus; what it had no need to set, the procedure may have.
  const setting = [...planning, ...executions];
  const outcomes: Record<ControllerName, ControllerOutcome> = {
    exposure: judgeExposure(firstOf(setting, Skill.exposure), planning),
    focus: await judgeFocus(truth, firstOf(setting, Skill.focus), planning),
    ...(request.procedure === null
      ? {
          registration: notReached,
          localisation: notReached,
          alignment: notReached,
          pickup: notReached,
          insertion: notReached,
        }
      : await judgeImplantation(truth, request.procedure, entries, executions, notReached)),
    stop: request.stop === null ? notReached : judgeStop(await truth.motions(), request.stop),
  };
  const { trial, cellSeed, disturbance } = request;
  return { trial, cellSeed, disturbance, outcomes };
}

function judgeExposure(execution: Execution | undefined, planning: readonly Execution[]): ControllerOutcome {
  if (execution !== undefined) return judged(execution, {}, undefined);
  return planning.length > 0 ? missed("exposure was left as it was") : missed("not reached: nothing ran");
}

/** How far each view's plane of focus lies from the tip, m. */
export function defocusM(scene: TruthScene, sample: TruthSample): readonly number[] {
  return views.map((i) => {
    const { focusPoint, focusDirection, cameraFromWorld } = scene.microscopes[i];
    const plane = add(focusPoint, scale(focusDirection, sample.focusM[i]));
    return Math.abs(dot(cameraFromWorld[2], subtract(sample.tip, plane)));
  });
}

async function judgeFocus(
  truth: TruthClient,
  execution: Execution | undefined,
  planning: readonly Execution[],
): Promise<ControllerOutcome> {
  if (execution === undefined)
    return planning.length > 0 ? missed("focus was left as it was") : missed("not reached: nothing ran");
  const sample = await truth.at(execution.endS);
  if (sample === null) return missed("its truth is no longer kept");
  const positionM = Math.max(...defocusM(await truth.scene(), sample));
  return judged(
    execution,
    { positionM },
    positionM < depthOfFieldM ? undefined : "beyond the depth of field",
  );
}

async function judgeImplantation(
  truth: TruthClient,
  recording: string,
  entries: readonly AuditEntry[],
  executions: readonly Execution[],
  notReached: ControllerOutcome,
): Promise<
  Pick<
    Record<ControllerName, ControllerOutcome>,
    "registration" | "localisation" | "alignment" | "pickup" | "insertion"
  >
> {
  const procedure = (
    await loadYaml(path.join(recording, "procedure.yaml"), procedureSchema, {
      unreadable: "PROCEDURE_UNREADABLE",
      invalid: "PROCEDURE_UNREADABLE",
    })
  ).value;
  const [result] = await evaluateTargets(truth, procedure, entries, working.standoffM);
  const registration = firstOf(executions, Skill.registration);
  const alignment = firstOf(executions, Skill.align);
  const insertion = firstOf(executions, Skill.insert);
  return {
    registration: registration === undefined ? notReached : judgeRegistration(registration, result),
    localisation:
      registration === undefined ? notReached : await judgeLocalisation(truth, registration, procedure),
    alignment: alignment === undefined ? notReached : judgeAlignment(alignment, result),
    pickup: insertion === undefined ? notReached : judgePickup(insertion),
    insertion: insertion === undefined ? notReached : judgeInsertion(insertion, result),
  };
}

function judgeRegistration(execution: Execution, result: TargetResult | undefined): ControllerOutcome {
  const treM = result?.treM ?? null;
  if (treM === null) return judged(execution, {}, "the registered place was never visited");
  return judged(execution, { treM }, treM < published.treM ? undefined : "TRE too large");
}

/** Where the first target was localised against where it truly rests, as the views show it. */
async function judgeLocalisation(
  truth: TruthClient,
  execution: Execution,
  procedure: Procedure,
): Promise<ControllerOutcome> {
  const [target] = procedure.targets;
  const stages = execution.stages.filter(({ name }) => name === "target localised");
  const stage = stages.find(({ measurements }) => measurements["target"] === target?.id);
  if (stage === undefined || target === undefined) return missed(reasonOf(execution));
  const scene = await truth.scene();
  const sample = await truth.at(stage.atS);
  if (sample === null) return missed("its truth is no longer kept");
  const rest = tissuePoint(scene, await pickedPoint(truth, scene, target.picks[0]), [0, 0, 0]);
  const flat = stage.measurements["sitePx"];
  const sitePx = Array.isArray(flat) ? (flat as number[]) : [];
  const errors = views.map((i) => {
    const camera = scene.microscopes[i];
    const [x, y] = seenAt(camera, i, sample, rest);
    return Math.hypot((sitePx[2 * i] ?? NaN) - x, (sitePx[2 * i + 1] ?? NaN) - y) * camera.metresPerPixel;
  });
  const positionM = Math.max(...errors);
  const wrong = positionM < published.localisationM ? undefined : "localised too far off";
  // From the end of the fit to the stage itself.
  const fromS = execution.stages.find(({ name }) => name === "stroke direction")?.atS ?? execution.startS;
  return {
    ...judged({ ...execution, status: "succeeded" }, { positionM }, wrong, { fromS, toS: stage.atS }),
    frames: null,
  };
}

function judgeAlignment(execution: Execution, result: TargetResult | undefined): ControllerOutcome {
  const { alignAngleRad = null, alignErrorM = null } = result ?? {};
  if (alignAngleRad === null || alignErrorM === null) return judged(execution, {}, "never accepted");
  const positionM = Math.max(...alignErrorM);
  const good = alignAngleRad < published.alignAngleRad && positionM < published.alignErrorM;
  return judged(
    execution,
    { angleRad: alignAngleRad, positionM },
    good ? undefined : "accepted outside the limits",
  );
}

/** The first attempt at a loop must end with it on the hook, carried as far as the site. */
function judgePickup(execution: Execution): ControllerOutcome {
  const stage = (name: string): Stage | undefined => execution.stages.find((one) => one.name === name);
  const arrived = stage("loop on the hook");
  const failed = stage("pickup failed");
  const why = failed?.measurements["why"];
  const failure =
    failed !== undefined
      ? `first attempt: ${String(why)
          .replaceAll(/-?\d+(\.\d+)?/g, "#")
          .slice(0, 90)}`
      : arrived?.measurements["carried"] === true
        ? undefined
        : arrived === undefined
          ? reasonOf(execution)
          : "lost on the way to the site";
  const toS = stage("back to the site")?.atS ?? execution.endS;
  return {
    ...judged({ ...execution, status: "succeeded" }, {}, failure, { fromS: execution.startS, toS }),
    frames: null,
  };
}

function judgeInsertion(execution: Execution, result: TargetResult | undefined): ControllerOutcome {
  const fromS = execution.stages.find(({ name }) => name === "loop on the hook")?.atS ?? execution.startS;
  const span = { fromS, toS: execution.endS };
  if (result === undefined || result.landingErrorM === null || result.insertAngleRad === null)
    return judged(execution, {}, "nothing was released", span);
  const { landingErrorM: positionM, insertAngleRad: angleRad, vesselHit } = result;
  const wrong = vesselHit
    ? "a vessel was hit"
    : positionM >= published.landingM
      ? "landed too far off"
      : angleRad >= published.insertAngleRad
        ? "too slanting"
        : undefined;
  return judged(execution, { positionM, angleRad }, wrong, span);
}

/** All motion ends soon after the request, and none begins before a person has reset. Pure. */
export function judgeStop(
  motions: readonly TruthMotion[],
  { askedS, untilS }: { readonly askedS: number; readonly untilS: number },
): ControllerOutcome {
  const running = motions.filter(({ startS, endS }) => startS <= askedS && (endS ?? Infinity) > askedS);
  const later = motions.filter(({ startS }) => startS > askedS + standstillS && startS < untilS);
  const timeS = Math.max(0, ...running.map(({ endS }) => (endS ?? Infinity) - askedS));
  const failure =
    timeS > standstillS ? "something moved on" : later.length > 0 ? "something moved before the reset" : null;
  return {
    success: failure === null,
    errors: {},
    timeS: Number.isFinite(timeS) ? timeS : null,
    frames: null,
    failure,
  };
}
