/** Observations: their identity, and the hash that ties a reply and a decision to exactly one of them. */
import { createHash, randomUUID } from "node:crypto";
import { canonicalJson } from "../../record/canonical-json.js";
import type { CellState, FrameReference, Observation, VisualConditions } from "../safety/types.js";

export type {
  CellState,
  ExposureMeasurement,
  FrameReference,
  Observation,
  Proposal,
  ViewConditions,
  VisualConditions,
} from "../safety/types.js";
export type { Tri } from "../safety/conditions.js";

export interface ObservationParts {
  readonly query: string;
  readonly frames: readonly FrameReference[];
  readonly state: CellState;
  readonly visual: VisualConditions;
}

/** The hash over everything but the hash itself, hex. */
export function observationHash(observation: Omit<Observation, "hash">): string {
  const { id, takenAtS, query, frames, state, visual } = observation;
  return createHash("sha256")
    .update(canonicalJson({ id, takenAtS, query, frames, state, visual }))
    .digest("hex");
}

/** A new observation of these parts: a fresh id, as old as its oldest part. */
export function makeObservation(parts: ObservationParts, id: string = `obs-${randomUUID()}`): Observation {
  const takenAtS = Math.min(parts.state.readAtS, ...parts.frames.map((frame) => frame.takenAtS));
  const body = { id, takenAtS, ...parts };
  return { ...body, hash: observationHash(body) };
}
