/** What the loop needs of the world; everything is passed in, so that the loop itself touches no device and no file. */
import type { Clock } from "../../base/clock.js";
import type { Reasoner, ReasonerImage } from "../reasoners/reasoner.js";
import type { GateLimits } from "../safety/gate.js";
import type { StopLatch } from "../safety/stop-latch.js";
import type { CellState, Observation } from "../safety/types.js";
import type { SkillRegistry } from "../skills/registry.js";
import type { LoopEvent } from "./events.js";

/** An observation together with its images; leases on frames end with `release`. */
export interface Capture {
  readonly observation: Observation;
  readonly images: readonly ReasonerImage[];
  release(): void;
}

export interface AuditPort {
  /** Resolves when the entry is on disk. A rejection means: nothing may move. */
  append(actor: string, action: string, data: unknown): Promise<unknown>;
}

export interface LoopPorts {
  readonly clock: Clock;
  readonly reasoner: Reasoner;
  readonly skills: SkillRegistry;
  readonly audit: AuditPort;
  readonly latch: StopLatch;
  /**
   * Takes one observation, always of new frames. A camera that is offline leaves its frame out; it does not reject.
   * @param cycle numbers the steps of this run, for file names
   */
  observe(cycle: number, signal: AbortSignal): Promise<Capture>;
  /** The state as measured now. */
  readState(): Promise<CellState>;
  /**
   * Calls the listener with every new state, at the devices' own rate, until the returned function is called. The guard
   * reads the state itself besides, every `guardPeriodS`.
   */
  watchState?(listener: (state: CellState) => void): () => void;
  /** Ends all motion now: unconditional, independent of any believed state. Idempotent. */
  stop(reason: string): Promise<void>;
  /** Whether what this run is for has been reached, by the state as measured. */
  isTerminal(state: CellState): boolean;
  /** What has been reached then, as a sentence for people. */
  readonly goal: string;
  /** Never throws, never blocks. */
  emit(event: LoopEvent): void;
}

export interface LoopOptions {
  readonly limits: GateLimits;
  /** Longest wait for an observation, s. */
  readonly observeLimitS: number;
  /** Refusals in a row before a person is asked. */
  readonly refusalBudget: number;
  /** Longest wait for a reply, s; below the age limit of an observation. */
  readonly reasonerBudgetS: number;
  /** Between looks of the guard whether or not devices report by themselves, s. */
  readonly guardPeriodS: number;
  /** How long a stopped skill may take to end, s. */
  readonly settleLimitS: number;
  /** How long a stop may take to be confirmed, s. */
  readonly stopLimitS: number;
  /** Pause before observing anew after a refusal, s. */
  readonly refusalPauseS: number;
  /** How long to wait for an operator; undefined waits for ever. */
  readonly operatorWaitS?: number;
  readonly progress: ProgressLimits;
}

export interface ProgressLimits {
  /** Failures in a row of one skill that change nothing. */
  readonly sameFailures: number;
  /** Runs in a row of one skill that change nothing, even when it reports success. */
  readonly sameRuns: number;
  /** Failures of all skills together since a target was last implanted. */
  readonly failuresPerTarget: number;
  /** Skills run since a target was last implanted. */
  readonly runsPerTarget: number;
}

export const defaultLoopOptions = (cameras: readonly string[]): LoopOptions => ({
  limits: { cameras, observationAgeS: 30, frameAgeS: 30, stateAgeS: 1 },
  observeLimitS: 5,
  refusalBudget: 3,
  reasonerBudgetS: 20,
  guardPeriodS: 0.02,
  settleLimitS: 5,
  stopLimitS: 2,
  refusalPauseS: 0.1,
  progress: { sameFailures: 3, sameRuns: 5, failuresPerTarget: 10, runsPerTarget: 40 },
});
