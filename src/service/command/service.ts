/**
 * What the command socket needs from the cell. The daemon passes an implementation in; the socket knows nothing of
 * loops, skills or devices.
 */
import type { SkillName } from "../../agent/safety/skill-names.js";
import type { CellStatus } from "./protocol.js";

export interface PlanRequest {
  readonly targets: number;
  /** Absolute path of the procedure file to write. */
  readonly file: string;
  readonly query?: string;
}

export interface PlanAnswer {
  readonly file: string;
  readonly targets: number;
  readonly detail: string;
}

export interface StartRequest {
  /** Absolute path of the procedure file. */
  readonly procedure: string;
  readonly query: string;
}

export interface StartAnswer {
  /** Folder of the recording that has begun. */
  readonly recording: string;
  readonly targets: number;
  readonly detail: string;
}

export interface Done {
  /** What happened, in one sentence. */
  readonly detail: string;
}

/**
 * Every method rejects with a CellError when it does not fit the present state (COMMAND_INVALID) or fails. None waits
 * for a procedure to end: `start` resolves as soon as the procedure runs, progress follows as events.
 */
export interface CellService {
  /** From a copy; never blocks on a device. */
  status(): CellStatus;
  /** Unconditional, idempotent, bounded in time; never waits for another call. */
  stop(reason: string, by: string): Promise<Done>;
  plan(request: PlanRequest, signal: AbortSignal): Promise<PlanAnswer>;
  start(request: StartRequest): Promise<StartAnswer>;
  reset(): Promise<Done>;
  confirm(): Promise<Done>;
  retry(): Promise<Done>;
  choose(skill: SkillName): Promise<Done>;
  takeover(by: string): Promise<Done>;
  handback(): Promise<Done>;
  override(fault: string): Promise<Done>;
  /** Origins of stages and needle drive; resolves when all are found. */
  home(): Promise<Done>;
}
