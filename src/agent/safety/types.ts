/** What the gate judges on: measured state, visual conditions, one observation, one proposal. Types alone. */
import type { Tri } from "./conditions.js";
import type { SkillName } from "./skill-names.js";

/** One frame of an observation, by reference: pixels stay in native memory. */
export interface FrameReference {
  readonly camera: string;
  readonly sequence: number;
  /** SHA-256 of the raw pixels, hex. */
  readonly sha256: string;
  readonly width: number;
  readonly height: number;
  /** Monotonic seconds: first exposure. */
  readonly takenAtS: number;
}

/** Joint values and the measured conditions that do not come from images. */
export interface CellState {
  /** Monotonic seconds at which the oldest part of this state was measured. */
  readonly readAtS: number;
  /** The six joints of the arm, rad; unknown while the arm's link is down. */
  readonly jointPositionsRad: readonly number[] | "unknown";
  /** At the device: the robot's own safety system reports it. */
  readonly emergencyStop: Tri;
  readonly protectiveStop: Tri;
  /** The program's own latch: set by a stop, cleared only by a person's reset. */
  readonly stopLatched: Tri;
  /** Links, guardian, envelope, disk, clock, calibration, device states. Cameras and singularity are apart. */
  readonly selfCheckOk: Tri;
  readonly selfCheckDetail?: string;
  /** By camera name. */
  readonly camerasOnline: Readonly<Record<string, Tri>>;
  readonly nearSingularity: Tri;
  readonly registered: Tri;
  readonly aligned: Tri;
  /** The frame epoch in which `aligned` was established. */
  readonly alignedEpoch: number;
  /** Advances with any motion that may invalidate an alignment, with a recovery and with a camera restart. */
  readonly frameEpoch: number;
  /** In the cartridge or on the needle. */
  readonly electrodeAvailable: Tri;
  readonly electrodeLoaded: Tri;
  readonly needleOutOfTissue: Tri;
  /** False once skills have established that the hooked tip is gone (searched for, not merely unseen). */
  readonly needleIntact: Tri;
  /** Targets of the procedure not yet implanted. */
  readonly targetsLeft: number | "unknown";
  /** Axes at rest, measured. */
  readonly still: Tri;
}

/** Grey levels 0…255 and shares 0…1, over the whole frame. */
export interface ExposureMeasurement {
  readonly mean: number;
  readonly p01: number;
  readonly p99: number;
  readonly clippedLow: number;
  readonly clippedHigh: number;
}

/** What native vision measured in one frame. Pixels; x right, y down. */
export interface ViewConditions {
  readonly camera: string;
  readonly sharp: Tri;
  readonly exposureInBand: Tri;
  readonly needleVisible: Tri;
  /** Sigma of the edge spread of the needle near its tip, px; the measure of sharpness. */
  readonly edgeSigmaPx?: number;
  readonly exposure?: ExposureMeasurement;
  readonly tipPx?: readonly [number, number];
  /** Unit vector in the image from shank to tip. */
  readonly directionPx?: readonly [number, number];
  readonly confidence?: number;
  /** Why something is not known. */
  readonly note?: string;
}

/** All views together; each combined condition is true only when it is true in every view. */
export interface VisualConditions {
  readonly views: readonly ViewConditions[];
  readonly sharp: Tri;
  readonly exposureInBand: Tri;
  readonly needleVisible: Tri;
  readonly usable: Tri;
  /** Angle between the needle's axis and the planned axis, rad, from two views. */
  readonly needleAngleRad?: number;
  /** Image error of the tip against its goal in each view, m. */
  readonly tipErrorM?: readonly number[];
}

/** One time-consistent set: a frame of each microscope, the cell state, the query. */
export interface Observation {
  readonly id: string;
  /** Monotonic seconds of its oldest part. */
  readonly takenAtS: number;
  readonly query: string;
  readonly frames: readonly FrameReference[];
  readonly state: CellState;
  readonly visual: VisualConditions;
  /** SHA-256 over the canonical JSON of everything above, hex. */
  readonly hash: string;
}

/** The single skill a well-formed reply names. The texts are an audit aid and are never judged. */
export interface Proposal {
  readonly skill: SkillName;
  readonly rationale: string;
  readonly answer: string;
}

/** Why a reply or proposal was refused (skill-agent.md 5.3). */
export type ReasonCode =
  | "finish"
  | "truncated"
  | "channel"
  | "length"
  | "char"
  | "special_token"
  | "count"
  | "order"
  | "trailing"
  | "empty"
  | "unknown_function"
  | "prerequisite"
  | "stale"
  | "transport";

export interface Reason {
  readonly code: ReasonCode;
  readonly detail: string;
}
