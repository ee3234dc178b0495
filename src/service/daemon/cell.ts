/**
 * The seam between the daemon and what it runs. The daemon knows when things happen (start order, self-check, readiness,
 * watchdog, shutdown); a Cell knows what they are (devices, skills, loop, recording).
 */
import type { Clock } from "../../base/clock.js";
import type { LoadedConfig } from "../../base/config.js";
import type { CellEvent } from "../command/protocol.js";
import type { CellService } from "../command/service.js";
import type { Logger } from "./logger.js";
import type { ProgressRegistry } from "./progress.js";

/** What a cell gets to work with. */
export interface CellContext {
  readonly loaded: LoadedConfig;
  readonly clock: Clock;
  readonly log: Logger;
  /** Every loop whose standstill must be noticed registers here; the watchdog is fed only while all advance. */
  readonly progress: ProgressRegistry;
  /** Events for the subscribers of the command socket; never blocks. */
  readonly publish: (event: CellEvent) => void;
}

export interface SelfCheckItem {
  readonly name: string;
  readonly passed: boolean;
  /** What was found; when not passed, what was expected and what to do. */
  readonly detail: string;
}

/**
 * One robot station. The constructor does no I/O. Order of calls: `configure` (again after it failed), `selfCheck`,
 * `activate`, then requests through the command socket until `finalize`.
 */
export interface Cell extends CellService {
  /**
   * Opens links, checks models against profiles and the calibration against the cell, starts guardian and heartbeat.
   * Afterwards everything is readable and nothing may move. When it rejects it has released what it opened, so that it
   * can be called again: errors of links and devices are tried again without end, errors of files end the daemon.
   */
  configure(signal: AbortSignal): Promise<void>;
  /** Links, guardian, envelope, disk, clock, calibration, device states. Rejects only on a defect. */
  selfCheck(signal: AbortSignal): Promise<readonly SelfCheckItem[]>;
  /** From here on a procedure may move the cell. Moves nothing itself. */
  activate(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the cell has lost what `configure` set up and must be configured anew; never while it can heal by
   * itself. The daemon then starts over. Motion never resumes by itself.
   */
  lost(): Promise<string>;
  /** The settings that may change while running (SIGHUP). */
  reconfigure(loaded: LoadedConfig): void;
  /** Stops what moves, closes links, recording and guardian. Idempotent, bounded in time, never rejects. */
  finalize(): Promise<void>;
}

export type CellFactory = (context: CellContext) => Cell;
