/** The port of everything that turns an observation into a reply text: rules, workers, servers, embedded models. */
import type { ReplyMetadata } from "../safety/transport-check.js";
import type { Observation } from "../safety/types.js";

/** One frame of the observation, reduced and encoded for a model. */
export interface ReasonerImage {
  readonly camera: string;
  readonly sequence: number;
  /** Of the raw frame, as in the observation. */
  readonly sha256: string;
  readonly jpeg: Uint8Array;
  /** Of the JPEG. */
  readonly width: number;
  readonly height: number;
  /** Frame pixels per JPEG pixel. */
  readonly reduce: number;
}

/** A reply as received. Nothing in it is believed: the checks and the parser of `safety/` judge it. */
export interface Reply extends ReplyMetadata {
  readonly text: string;
  /** Name and version of what answered, for the record. */
  readonly model?: string;
  /** What was put together again because a profile says that its server takes replies apart; for the record. */
  readonly rebuilt?: string;
}

export interface Reasoner {
  readonly name: string;
  /**
   * One inference on one observation; no memory of earlier ones.
   * @throws CellError REASONER_FAILED when no reply came in time, LINK_ABORTED when the signal fired
   */
  infer(observation: Observation, images: readonly ReasonerImage[], signal: AbortSignal): Promise<Reply>;
  /** Releases links; idempotent. */
  close?(): Promise<void>;
}
