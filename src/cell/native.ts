/**
 * The native addon of the cell (`native/addons/cell`), typed. Everything heavy runs in native threads: promises settle
 * on the event loop, pixels never leave native memory.
 */
import { createRequire } from "node:module";
import { addonPath } from "../base/paths.js";
import { CellError } from "../base/errors.js";

/**
 * One frame on native memory. While the lease is held its slot is not reused: release it soon. Native work that was
 * given the frame keeps it until done, whether or not it was released meanwhile.
 */
export interface FrameLease {
  readonly camera: string;
  /** Counts frames of this source since it started, gaps included: monotonic, unlike the 16-bit id on the wire. */
  readonly sequence: number;
  /** CLOCK_MONOTONIC seconds when the first byte of the frame can have been exposed, as well as the host knows. */
  readonly hostTimestampS: number;
  readonly deviceTimestampNs: bigint;
  /** Number of the trigger() that this frame answers; 0: none. */
  readonly trigger: number;
  readonly width: number;
  readonly height: number;
  /**
   * Row-major Mono8, `width * height` bytes; a view, not a copy. Release detaches it: a view kept longer has length 0,
   * and asking again throws.
   */
  readonly pixels: Uint8Array;
  release(): void;
}

export interface GrabberCounters {
  readonly received: number;
  readonly incomplete: number;
  readonly gaps: number;
  /** Times that no buffer was free: frames, or packets of GigE Vision. */
  readonly underruns: number;
  readonly dropped: number;
  /** Frames that showed the picture of the one before again. */
  readonly repeated: number;
  readonly leasesHeld: number;
  /** GigE Vision: of incomplete frames, from the first missing one on. */
  readonly missingPackets: number;
  /** GigE Vision: packets that came only after they were asked for again. */
  readonly resentPackets: number;
  readonly unansweredTriggers: number;
}

export interface CameraOptions {
  readonly name: string;
  /** GenICam device: IP address or device id for Aravis. */
  readonly address?: string;
  /** Or a V4L2 capture device, such as /dev/video0. */
  readonly device?: string;
  /** Or a folder of image files, played in name order at `frameRate`. */
  readonly folder?: string;
  /** Of the frames, px, after binning. */
  readonly width: number;
  readonly height: number;
  /** GenICam only: corner of the region that is read out, and sensor pixels per pixel. */
  readonly offsetX?: number;
  readonly offsetY?: number;
  readonly binning?: number;
  /** On the wire, by its GenICam name; frames are Mono8 all the same. */
  readonly pixelFormat?: string;
  /** GenICam only: "Software", or an input such as "Line0"; without, frames come by themselves. */
  readonly triggerSource?: string;
  readonly triggerActivation?: string;
  readonly frameRate: number;
  /** GigE Vision only, bytes; 0 negotiates the largest that comes through. */
  readonly packetSize: number;
  /** GigE Vision only: between packets, so that two cameras can share a link. */
  readonly packetDelayUs?: number;
  readonly ringSize: number;
  readonly mode: "newest" | "bounded";
}

export interface CameraIdentity {
  readonly vendor: string;
  readonly model: string;
  readonly serial: string;
}

export interface NativeCamera {
  /** Opens and configures the device; one camera at a time in the whole process, with retries. */
  open(): Promise<CameraIdentity>;
  start(): Promise<void>;
  /**
   * The newest complete frame, or null when none has come since `afterSequence`. Throws CAMERA_LEASES when too many
   * frames are held (three slots of the ring are always the camera's). In bounded mode: the first frame after it.
   */
  latest(afterSequence?: number): FrameLease | null;
  /** The first frame whose exposure began after `afterS` (CLOCK_MONOTONIC s); rejects after `timeoutS`. */
  next(afterS: number, timeoutS: number): Promise<FrameLease>;
  /** Reads a GenICam feature in SI-free device units (µs for ExposureTimeAbs). */
  getFeature(name: string): Promise<number>;
  /** Checks bounds and increment, writes, reads back; resolves with the value the device holds. */
  setFeature(name: string, value: number): Promise<number>;
  /** Increment 0: any value between. */
  featureBounds(
    name: string,
  ): Promise<{ readonly min: number; readonly max: number; readonly increment: number }>;
  /** Asks for one frame; resolves with the trigger's number. Only with the trigger source "Software". */
  trigger(): Promise<number>;
  counters(): GrabberCounters;
  /**
   * Seconds since the last complete frame with a picture of its own; Infinity before the first. With software triggers:
   * since the oldest one that no frame has answered; 0 when there is none.
   */
  silenceS(): number;
  /** True once the device reported loss of control or the stream died; only close() and open() mend it. */
  readonly lost: boolean;
  close(): Promise<void>;
}

export interface Roi {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Grey levels 0…255. */
export interface ImageMetrics {
  readonly mean: number;
  readonly p01: number;
  readonly p50: number;
  readonly p99: number;
  readonly clippedLow: number;
  readonly clippedHigh: number;
  /** Noise-compensated sharpness figures over the region; see native/geometry. */
  readonly brenner: number;
  readonly tenengrad: number;
}

/** A needle in one frame. Pixels; the direction points from the shank to the tip. */
export interface NeedleEstimate {
  readonly found: boolean;
  /** Why not, when not found. */
  readonly reason: string;
  readonly tipX: number;
  readonly tipY: number;
  readonly directionX: number;
  readonly directionY: number;
  /** Shank width in pixels, edge to edge. */
  readonly widthPx: number;
  /** Blur of the shank's edges near the tip: sigma of the edge spread, px. */
  readonly edgeSigmaPx: number;
  /** How far above the tip the plane of focus cuts the shank, px; NaN unless its blur is seen to have a minimum there. */
  readonly sharpestPx?: number;
  readonly tipSigmaPx: number;
  readonly angleSigmaRad: number;
  /** 0…1 */
  readonly confidence: number;
}

export interface PatchMatch {
  readonly found: boolean;
  readonly x: number;
  readonly y: number;
  /** Normalised cross-correlation at the match, −1…1. */
  readonly score: number;
  /** Height of the best match over the best one elsewhere. */
  readonly distinctness: number;
}

/** A grey-level template; its centre is the matched point. */
export interface Patch {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

export interface RingEstimate {
  readonly found: boolean;
  readonly reason: string;
  /** Centre of the ring's opening, px. */
  readonly x: number;
  readonly y: number;
  readonly sigmaPx: number;
  readonly edgeSigmaPx: number;
  readonly confidence: number;
}

export interface SiteCandidate {
  readonly x: number;
  readonly y: number;
  /** Distance to the nearest vessel-like structure, px. */
  readonly vesselDistancePx: number;
  /** Local texture, for tracking: higher is better. */
  readonly texture: number;
}

export interface Geometry {
  measureImage(frame: FrameLease, roi?: Roi): Promise<ImageMetrics>;
  findNeedle(frame: FrameLease, options?: { readonly roi?: Roi }): Promise<NeedleEstimate>;
  trackNeedle(frame: FrameLease, prior: NeedleEstimate): Promise<NeedleEstimate>;
  /** Cuts a patch, warped by `affine` (row-major 2×2: patch offset → frame offset), bilinear. */
  cutPatch(
    frame: FrameLease,
    x: number,
    y: number,
    width: number,
    height: number,
    affine?: readonly [number, number, number, number],
  ): Patch;
  /** Sub-pixel normalised cross-correlation within `radius` px of (x, y), coarse to fine. */
  matchPatch(frame: FrameLease, patch: Patch, x: number, y: number, radius: number): Promise<PatchMatch>;
  findRing(
    frame: FrameLease,
    x: number,
    y: number,
    radius: number,
    expected: RingModel,
  ): Promise<RingEstimate>;
  findSites(frame: FrameLease, roi: Roi): Promise<SiteCandidate[]>;
  /**
   * Rigid registration (Kabsch) of point sets, x y z x y z …, same unit in both; synchronous, microseconds.
   * Throws for fewer than three or collinear points.
   */
  registerRigid(source: Float64Array, target: Float64Array): RigidFit;
  /** JPEG of the frame (quality 0…100), reduced by a whole factor; encoded in a native thread. */
  encodeJpeg(frame: FrameLease, quality: number, reduce: number): Promise<Buffer>;
  /** SHA-256 of the pixels, hex; hashed in a native thread. */
  hashFrame(frame: FrameLease): Promise<string>;
}

/** target = rotation · source + translation, with the fit's own residual (FRE: never to be reported as TRE). */
export interface RigidFit {
  /** Row-major 3×3. */
  readonly rotation: readonly number[];
  readonly translation: readonly number[];
  readonly fre: number;
}

/** How the loop appears in a view: half axes of the opening as 2-D image vectors, wire width, ribbon direction (px). */
export interface RingModel {
  readonly halfAxisA: readonly [number, number];
  readonly halfAxisB: readonly [number, number];
  readonly wirePx: number;
  readonly ribbonDirection: readonly [number, number];
  readonly ribbonWidthPx: number;
}

export interface ServoView {
  readonly camera: NativeCamera;
  readonly prior: NeedleEstimate;
  readonly goalX: number;
  readonly goalY: number;
}

export interface ServoAxis {
  readonly axis: number;
  /** Image motion per pulse in view 1 (u, v) and view 2 (u, v), px. */
  readonly pxPerPulse: readonly [number, number, number, number];
  readonly minPulses: number;
  readonly maxPulses: number;
  /** Final approach direction against lost motion: +1 or −1. */
  readonly approach: 1 | -1;
}

/** Where the native servo reaches the stages: an address, or the descriptor of a line that nobody else reads meanwhile. */
export type StageLine =
  | { readonly host: string; readonly port: number }
  | {
      readonly descriptor: number;
      /** Serial lines want STX before a command. */
      readonly stx: boolean;
      /** Fields of STR after the axis. */
      readonly statusFields: 5 | 6;
    };

export interface ServoSettings {
  readonly speedTable: number;
  readonly views: readonly [ServoView, ServoView];
  readonly axes: readonly ServoAxis[];
  /** Accept when both views are nearer than this for `consecutive` looks. */
  readonly tolerancePx: number;
  readonly consecutive: number;
  readonly maxIterations: number;
  /** NOT_CONVERGED when the error has not shrunk by `shrinkFactor` within `shrinkSteps`. */
  readonly shrinkFactor: number;
  readonly shrinkSteps: number;
  /** Largest commanded step of an axis per look. */
  readonly maxStepPulses: number;
  readonly approachPulses: number;
  readonly timeoutS: number;
}

export type ServoOptions = StageLine & ServoSettings;

export interface ServoReport {
  readonly status:
    "converged" | "not_converged" | "needle_lost" | "stopped" | "link" | "envelope" | "timeout" | "frames";
  readonly detail: string;
  readonly iterations: number;
  readonly errorPx: readonly [number, number];
  readonly needles: readonly [NeedleEstimate, NeedleEstimate];
  readonly positionsPulses: readonly number[];
  /** Time from a frame's host timestamp to the stage command on the wire, median, s. */
  readonly frameToCommandS: number;
}

export interface NativeServo {
  /** Runs the alignment loop in its own thread; the stage link of these axes belongs to it until it settles. */
  run(options: ServoOptions): Promise<ServoReport>;
  /** Decelerates all axes at once and settles run() with "stopped"; safe at any time. */
  stop(): void;
}

export interface HeartStatus {
  readonly beats: number;
  readonly lateBeats: number;
  readonly guardianAlive: boolean;
  readonly eventLoopAgeS: number;
  readonly realtime: boolean;
  /** Periods of its thread, and those that it skipped because it came too late. */
  readonly ticks: number;
  readonly missed: number;
  /** How late its thread woke, s; quantiles of all its periods. */
  readonly lateP50S: number;
  readonly lateP99S: number;
  readonly lateP999S: number;
  readonly lateMaxS: number;
}

/** The native heartbeat: beats to the guardian only while the event loop is alive. */
export interface NativeHeart {
  /** Starts beating every `periodS` on descriptor `fd`; silent when `touch()` is older than `limitS`. */
  start(options: { readonly fd: number; readonly periodS: number; readonly limitS: number }): void;
  /** The event loop is alive. */
  touch(): void;
  /** What the guardian must know when it takes over. */
  setNeedle(inTissue: boolean, retractToMicrosteps: number): void;
  status(): HeartStatus;
  stop(): void;
}

/** An axis of the stages as its envelope knows it. Pulses are those of the controller; the range is inclusive. */
export interface StageAxisLimits {
  readonly number: number;
  readonly minPulses: number;
  readonly maxPulses: number;
  /** The fastest the stage may be driven. */
  readonly maxPps: number;
}

/** The envelopes throw errors with a code of the catalogue; src/cell/envelope.ts makes CellErrors of them. */
export interface NativeStageEnvelope {
  target(axis: number, pulses: number, what: string): void;
  line(bytes: Buffer): void;
}

export interface NeedleEnvelopeLimits {
  /** Whole stroke, microsteps. */
  readonly travel: number;
  /** Microsteps/s, microsteps/s². */
  readonly maxSpeed: number;
  readonly maxAcceleration: number;
  /** Zaber data values per microstep/s and per microstep/s². */
  readonly speedScale: number;
  readonly accelerationScale: number;
}

export interface NativeNeedleEnvelope {
  position(microsteps: number, what: string): void;
  motion(speed: number, acceleration: number): void;
  dwell(milliseconds: number): void;
  line(bytes: Buffer): void;
  registers(address: number, values: readonly number[]): readonly number[];
}

/** How far and how fast one command may move the arm. */
export interface ArmPaceLimits {
  /** Largest change of one joint in one command, rad. */
  readonly maxJointStepRad: number;
  readonly maxJointSpeedRadS: number;
  readonly maxJointAccelerationRadS2: number;
  /** Largest way of the flange in one linear command, m. */
  readonly maxLinearStepM: number;
  readonly maxLinearSpeedMS: number;
  readonly maxLinearAccelerationMS2: number;
  /** Largest radius by which points of a path are rounded, m. */
  readonly maxBlendM: number;
}

export interface ArmLimits extends ArmPaceLimits {
  readonly lowerRad: readonly number[];
  readonly upperRad: readonly number[];
}

/** A command to the control program of the arm (src/cell/ur/codec/reverse.ts). */
export interface ArmMessage {
  /** How long the next command may stay away. */
  readonly timeoutMs: number;
  readonly sequence: number;
  readonly kind: number;
  /** Moves only: joint angles (rad), or x, y, z (m) and rotation vector (rad). */
  readonly values: readonly number[];
  /** rad/s or m/s. */
  readonly speed: number;
  /** rad/s² or m/s²; for STOP the deceleration of the joints. */
  readonly acceleration: number;
  /** Metres. */
  readonly blend: number;
}

export interface NativeArmEnvelope {
  standsAt(joints: readonly number[], pose: readonly number[]): void;
  encode(message: ArmMessage): Buffer;
}

export interface CellAddon {
  readonly StageEnvelope: new (
    family: "aries" | "sc",
    axes: readonly StageAxisLimits[],
  ) => NativeStageEnvelope;
  readonly NeedleEnvelope: new (limits: NeedleEnvelopeLimits) => NativeNeedleEnvelope;
  readonly ArmEnvelope: new (limits: ArmLimits) => NativeArmEnvelope;
  readonly Camera: new (options: CameraOptions) => NativeCamera;
  readonly geometry: Geometry;
  /**
   * An image file (PNG, TIFF, JPEG, PGM, BMP; 8 or 16 bits) as a frame of `name`. `bits` says how many of 16 count; 0
   * takes the fewest of 8, 10, 12, 14, 16 that hold the brightest pixel. Rejects with IMAGE_UNREADABLE.
   */
  readImage(
    file: string,
    name: string,
    bits: number,
  ): Promise<{ readonly frame: FrameLease; readonly bits: number }>;
  readonly Servo: new () => NativeServo;
  readonly Heart: new () => NativeHeart;
  /** One datagram to NOTIFY_SOCKET (sd_notify); false when the variable is unset. */
  notifySystemd(message: string): boolean;
  fdatasync(fd: number): Promise<void>;
}

let loaded: CellAddon | undefined;

/** @throws CellError INTERNAL with what to do when the native part was never built. */
export function cellAddon(): CellAddon {
  if (loaded === undefined) {
    const file = addonPath("cell");
    try {
      loaded = createRequire(import.meta.url)(file) as CellAddon;
    } catch (error) {
      throw new CellError("INTERNAL", `the native addon cannot be loaded from ${file}`, {
        cause: error,
        remedy: "build it with `npm run build:native`",
      });
    }
  }
  return loaded;
}
