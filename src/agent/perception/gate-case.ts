/**
 * A case for the gate in a file: an observation, the state read after it, the moment and the limits. What a file leaves
 * out is not known, and what is not known permits nothing. Seconds are those of one clock, whichever it is.
 */
import { z } from "zod";
import type { GateLimits } from "../safety/gate.js";
import type { ReplyMetadata } from "../safety/transport-check.js";
import type { CellState, Observation } from "../safety/types.js";
import { observationHash } from "./observation.js";

const seconds = z.number().describe("s, of one clock");
const tri = z
  .union([z.boolean(), z.literal("unknown")])
  .describe("what was measured; left out, it is unknown");
const known = tri.default("unknown");
const share = z.number().min(0).max(1);

const frame = z.strictObject({
  camera: z.string(),
  takenAtS: seconds.describe("first exposure, s"),
  sequence: z.int().default(0),
  sha256: z.string().default("").describe("of the raw pixels, hex"),
  width: z.int().default(0),
  height: z.int().default(0),
});

const state = z.strictObject({
  readAtS: seconds
    .optional()
    .describe("when its oldest part was measured, s; left out, with the observation"),
  jointPositionsRad: z.union([z.array(z.number()).length(6), z.literal("unknown")]).default("unknown"),
  emergencyStop: known,
  protectiveStop: known,
  stopLatched: known,
  selfCheckOk: known,
  selfCheckDetail: z.string().optional(),
  camerasOnline: z.record(z.string(), tri).default({}),
  nearSingularity: known,
  registered: known,
  aligned: known,
  alignedEpoch: z.int().default(0),
  frameEpoch: z.int().default(1),
  electrodeAvailable: known,
  electrodeLoaded: known,
  needleOutOfTissue: known,
  needleIntact: known,
  targetsLeft: z.union([z.int().min(0), z.literal("unknown")]).default("unknown"),
  still: known,
});

const view = z.strictObject({
  camera: z.string(),
  sharp: known,
  exposureInBand: known,
  needleVisible: known,
  edgeSigmaPx: z.number().optional(),
  exposure: z
    .strictObject({
      mean: z.number(),
      p01: z.number(),
      p99: z.number(),
      clippedLow: share,
      clippedHigh: share,
    })
    .optional(),
  tipPx: z.tuple([z.number(), z.number()]).optional(),
  directionPx: z.tuple([z.number(), z.number()]).optional(),
  confidence: z.number().optional(),
  note: z.string().optional(),
});

const visual = z.strictObject({
  views: z.array(view).default([]),
  sharp: known,
  exposureInBand: known,
  needleVisible: known,
  usable: known,
  needleAngleRad: z.number().optional(),
  tipErrorM: z.array(z.number()).optional(),
});

const observation = z.strictObject({
  id: z.string().min(1),
  takenAtS: seconds.describe("of its oldest part, s"),
  query: z.string().default(""),
  frames: z.array(frame).default([]),
  state: state.prefault({}),
  visual: visual.prefault({}),
  hash: z.string().optional().describe("SHA-256 over its canonical JSON, hex; checked when given"),
});

const age = z.number().min(0);
const limits = z.strictObject({
  cameras: z.array(z.string()).default(["view1", "view2"]).describe("all cameras of the cell"),
  observationAgeS: age.default(15).describe("oldest observation that may be acted on, s"),
  frameAgeS: age.default(15).describe("oldest frame, s"),
  stateAgeS: age.default(1).describe("oldest freshly read state, s"),
});

export const gateCaseSchema = z
  .strictObject({
    observation,
    freshState: state
      .optional()
      .describe("the state read for the verdict; left out, that of the observation"),
    judgedAtS: seconds.optional().describe("the moment of the verdict, s; left out, that of the observation"),
    limits: limits.prefault({}),
    decided: z.boolean().default(false).describe("a decision on this observation was made before"),
  })
  .describe("A case for the gate: surgiclaw gate check --observation FILE");

/** What is known of how a reply arrived. A finish reason that is left out is none; the rest is then taken as in order. */
export const replyMetadataSchema = z
  .strictObject({
    finishReason: z.string().optional().describe("as the server gave it; only stop is a whole reply"),
    completionTokens: z.number().optional(),
    tokenLimit: z.number().optional(),
    observationId: z.string().optional().describe("the observation that the reply answers"),
    observationHash: z.string().optional(),
    receivedAtS: seconds.optional(),
    toolCalls: z.array(z.unknown()).optional().describe("native tool calls beside the text"),
    reasoning: z.string().optional().describe("text in a channel of its own"),
    constraintProbe: z.enum(["passed", "failed"]).optional(),
  })
  .describe("How a reply arrived: surgiclaw gate check --meta FILE");

export interface GateCase {
  readonly nowS: number;
  readonly observation: Observation;
  readonly freshState: CellState;
  readonly limits: GateLimits;
  readonly decided: boolean;
  /** False when the file states a hash that its observation does not have. */
  readonly hashHolds: boolean;
}

type CaseFile = z.output<typeof gateCaseSchema>;
/** Zod writes an optional key as one that may hold undefined; JSON knows no such value. */
const plain = <T>(value: unknown): T => JSON.parse(JSON.stringify(value)) as T;

/** @param given the same file before defaults were filled in: a stated hash is over what it says */
export function gateCase(file: CaseFile, given: unknown): GateCase {
  const { takenAtS } = file.observation;
  const withTime = (part: z.output<typeof state>): CellState =>
    plain({ ...part, readAtS: part.readAtS ?? takenAtS });
  const own = withTime(file.observation.state);
  const stated = file.observation.hash;
  const written = (given as { observation: Observation }).observation;
  const body = { ...file.observation, state: own, hash: "" };
  return {
    nowS: file.judgedAtS ?? takenAtS,
    observation: plain({ ...body, hash: stated ?? observationHash(plain<Observation>(body)) }),
    freshState: file.freshState === undefined ? own : withTime(file.freshState),
    limits: file.limits,
    decided: file.decided,
    hashHolds: stated === undefined || observationHash(written) === stated,
  };
}

export function replyMetadata(file: z.output<typeof replyMetadataSchema>, of: GateCase): ReplyMetadata {
  const { id, hash, takenAtS } = of.observation;
  const { finishReason, ...rest } = file;
  return plain<ReplyMetadata>({
    observationId: id,
    observationHash: hash,
    receivedAtS: takenAtS,
    ...rest,
    ...(finishReason === undefined ? {} : { finishReason }),
  });
}
