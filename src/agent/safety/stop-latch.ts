/**
 * The stop latch. Any stop engages it; only a person's reset clears it, and only on the edge: a reset names the very stop
 * that the person saw, so that one given before the latest stop, or held down, or repeated, clears nothing.
 */
import type { Tri } from "./conditions.js";

export interface LatchState {
  readonly latched: boolean;
  /** Counts engagements; names the present or latest one. */
  readonly stopNumber: number;
  readonly reason: string;
  /** Monotonic seconds. */
  readonly sinceS: number;
}

export interface ResetRequest {
  /** The stop the person saw. */
  readonly stopNumber: number;
  /** Who; a reset without a name is none. */
  readonly by: string;
}

export interface ResetConditions {
  /** Emergency and protective stop released, at the device. */
  readonly stopReleased: Tri;
  readonly selfCheckOk: Tri;
}

export type ResetResult = { readonly cleared: true } | { readonly cleared: false; readonly why: string };

export class StopLatch {
  /** Called after every engagement and every reset. */
  onChange: (state: LatchState) => void = () => undefined;

  private current: LatchState = { latched: false, stopNumber: 0, reason: "", sinceS: 0 };

  get state(): LatchState {
    return this.current;
  }

  get latched(): boolean {
    return this.current.latched;
  }

  /**
   * Engages, whatever the state; engaging again while latched makes a new stop, so that a reset under way misses it.
   * @returns the number of this stop
   */
  engage(reason: string, nowS: number): number {
    this.current = { latched: true, stopNumber: this.current.stopNumber + 1, reason, sinceS: nowS };
    this.onChange(this.current);
    return this.current.stopNumber;
  }

  /** Clears on a person's edge once its cause is known to be gone; says why not otherwise. */
  reset(request: ResetRequest, conditions: ResetConditions): ResetResult {
    const kept = (why: string): ResetResult => ({ cleared: false, why });
    if (!this.current.latched) return kept("no stop is latched");
    if (request.by.trim() === "") return kept("a reset needs the name of a person");
    if (request.stopNumber !== this.current.stopNumber) {
      return kept(`stop ${this.current.stopNumber} came after stop ${request.stopNumber}, which was reset`);
    }
    if (conditions.stopReleased !== true)
      return kept("an emergency or protective stop is not known to be released");
    if (conditions.selfCheckOk !== true) return kept("the self-check is not known to have passed");
    this.current = { ...this.current, latched: false };
    this.onChange(this.current);
    return { cleared: true };
  }
}
