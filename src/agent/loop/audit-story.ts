/**
 * The story of a procedure, decision by decision, from its audit log alone: what was seen and measured, who proposed what,
 * how the gate judged it and on which conditions, what the skill did and how it ended. For people; it judges nothing.
 */
import type { AuditEntry } from "../../record/audit-entry.js";
import { evaluateConditions, type ConditionId, type Tri } from "../safety/conditions.js";
import { prerequisites } from "../safety/prerequisites.js";
import type { Measurements } from "../skills/skill.js";
import { decisionAction, skillEndAction, skillStartAction, type DecisionRecord } from "./decision-record.js";

export interface StoryImage {
  /** Relative to the recording. */
  readonly file: string;
  readonly camera: string;
  /** Of the file. */
  readonly sha256: string;
  /** What it shows: the observation, or the moment of a skill that kept it. */
  readonly label: string;
}

export interface StoryStage {
  readonly seq: number;
  readonly atS: number;
  readonly name: string;
  readonly measurements: Measurements;
}

export interface StoryRun {
  readonly startS: number;
  readonly stages: StoryStage[];
  /** Absent when the record ends before the skill did. */
  end?: {
    readonly atS: number;
    readonly status: string;
    readonly detail: string;
    readonly measurements: Measurements;
  };
}

export interface StoryDecision {
  readonly kind: "decision";
  readonly seq: number;
  readonly atS: number;
  readonly wall: string;
  readonly record: DecisionRecord;
  /** Those that the proposed skill needs, as they were known; empty without a proposal or a state. */
  readonly conditions: readonly { readonly id: ConditionId; readonly value: Tri }[];
  readonly images: StoryImage[];
  run?: StoryRun;
}

/** Whatever else happened: an operator's word, a stop, the beginning and the end of the log. */
export interface StoryNote {
  readonly kind: "note";
  readonly seq: number;
  readonly atS: number;
  readonly wall: string;
  readonly actor: string;
  readonly action: string;
  readonly data: unknown;
}

export type StoryItem = StoryDecision | StoryNote;

export interface Story {
  readonly stream: string;
  /** Monotonic s of the first entry; times of the story count from it. */
  readonly beginS: number;
  readonly items: readonly StoryItem[];
}

interface StoredData {
  readonly file: string;
  readonly camera: string;
  readonly observationId: string;
  readonly fileSha256: string;
}

/** @param entries of one verified log, in order */
export function auditStory(entries: readonly AuditEntry[]): Story {
  const first = entries[0];
  const items: StoryItem[] = [];
  const decisions = new Map<string, StoryDecision>();
  const byObservation = new Map<string, StoryDecision>();
  const early: StoredData[] = [];
  let latest: StoryDecision | undefined;
  for (const entry of entries) {
    const { seq, monotonicS: atS, wall, actor, action } = entry;
    switch (action) {
      case decisionAction: {
        const record = entry.data as DecisionRecord;
        const images: StoryImage[] = [];
        latest = { kind: "decision", seq, atS, wall, record, conditions: needed(record), images };
        items.push(latest);
        decisions.set(record.decisionId, latest);
        byObservation.set(record.observation.id, latest);
        break;
      }
      case skillStartAction: {
        const decision = decisions.get((entry.data as { decisionId: string }).decisionId);
        if (decision !== undefined) decision.run = { startS: atS, stages: [] };
        break;
      }
      case "skill.stage": {
        const data = entry.data as { decisionId: string; stage: string; measurements: Measurements };
        const { stage: name, measurements } = data;
        decisions.get(data.decisionId)?.run?.stages.push({ seq, atS, name, measurements });
        break;
      }
      case skillEndAction: {
        const data = entry.data as {
          decisionId: string;
          status: string;
          detail: string;
          measurements?: Measurements;
        };
        const { status, detail, measurements = {} } = data;
        const run = decisions.get(data.decisionId)?.run;
        if (run !== undefined) run.end = { atS, status, detail, measurements };
        break;
      }
      case "frame.stored": {
        // Written beside the procedure: the picture of an observation may be on disk before its decision is.
        const stored = entry.data as StoredData;
        const owner = byObservation.get(stored.observationId);
        if (owner !== undefined) owner.images.push(image(stored, "the observation"));
        else if (stored.observationId.startsWith("obs-")) early.push(stored);
        else latest?.images.push(image(stored, stored.observationId));
        break;
      }
      default:
        items.push({ kind: "note", seq, atS, wall, actor, action, data: entry.data });
    }
  }
  for (const stored of early)
    byObservation.get(stored.observationId)?.images.push(image(stored, "the observation"));
  return { stream: first?.stream ?? "", beginS: first?.monotonicS ?? 0, items };
}

const image = ({ file, camera, fileSha256 }: StoredData, label: string): StoryImage => ({
  file,
  camera,
  sha256: fileSha256,
  label,
});

function needed(record: DecisionRecord): { id: ConditionId; value: Tri }[] {
  const { skill, freshState, observation, judgedAtS, limits } = record;
  if (skill === null || freshState === null) return [];
  const values = evaluateConditions(judgedAtS, freshState, observation.visual, observation.frames, limits);
  const marks = prerequisites[skill];
  return (Object.keys(values) as ConditionId[])
    .filter((id) => marks[id] !== "-")
    .map((id) => ({ id, value: values[id] }));
}
