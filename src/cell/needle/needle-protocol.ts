/** What the driver of the needle asks of a protocol that reaches its drive. Lengths are microsteps of the drive. */
import type { CellError } from "../../base/errors.js";
import type { LinkCounters, RequestOptions } from "../links/request-link.js";

export interface NeedleState {
  readonly microsteps: number;
  readonly busy: boolean;
  /** The drive knows where its reference is. */
  readonly referenced: boolean;
  /** Two letters each, the most severe first; empty when there is nothing to warn of. */
  readonly flags: readonly string[];
}

/** Microsteps/s and microsteps/s². */
export interface DriveMotion {
  readonly speed: number;
  readonly acceleration: number;
}

export interface DriveStroke {
  /** Where it turns, and where it ends. */
  readonly depth: number;
  readonly end: number;
  readonly dwellMs: number;
  readonly down: DriveMotion;
  readonly up: DriveMotion;
}

export interface NeedleProtocol {
  /** The link went down by itself. */
  onClosed: (reason: CellError) => void;
  readonly isOpen: boolean;
  /** Descriptor of the open port. */
  readonly descriptor: number | undefined;
  readonly counters: LinkCounters;
  /** @throws CellError LINK_CONNECT, LINK_BUSY, LINK_ABORTED */
  open(signal?: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
  /**
   * Makes sure that the drive is the one of the profile, and sets what the driver relies on, each setting read back.
   * @throws CellError DEVICE_WRONG_MODEL, DEVICE_REFUSED, LINK_TIMEOUT, LINK_PROTOCOL
   */
  identify(signal?: AbortSignal): Promise<void>;
  read(signal?: AbortSignal): Promise<NeedleState>;
  home(options: RequestOptions): Promise<void>;
  move(target: number, motion: DriveMotion, options: RequestOptions): Promise<void>;
  /** Sends a stroke ahead, with its depth as the drive's own limit, and begins it with the last command. */
  stroke(stroke: DriveStroke, options: RequestOptions): Promise<void>;
  /** Drops what is left of a stroke, however it ended, and gives the drive its whole travel again. */
  endStroke(): Promise<void>;
  /** Written at once, past any request in flight; resolves when the drive has confirmed it. */
  halt(kind: "stop" | "estop"): Promise<void>;
  /** Acknowledges what the drive latched and switches its driver on. */
  clear(signal?: AbortSignal): Promise<void>;
}
