/**
 * Progress of the critical loops. Each counts its own turns; the watchdog compares counts, so a loop that hangs, or runs
 * without getting anywhere, is noticed whatever the others do.
 */
import { CellError } from "../../base/errors.js";

export interface ProgressHandle {
  /** One turn done. */
  advance(): void;
  /** The loop rests on purpose (nothing to servo, say) and is not watched until it advances again. */
  rest(): void;
  /** The loop has ended. */
  unregister(): void;
}

interface Loop {
  readonly read: () => number;
  seen: number;
  resting: boolean;
}

export class ProgressRegistry {
  private readonly loops = new Map<string, Loop>();

  /** A loop that counts by calling `advance`. */
  register(name: string): ProgressHandle {
    let turns = 0;
    const loop = this.add(name, () => turns);
    return {
      advance: () => {
        turns += 1;
        loop.resting = false;
      },
      rest: () => {
        loop.resting = true;
      },
      unregister: () => {
        if (this.loops.get(name) === loop) this.loops.delete(name);
      },
    };
  }

  /** A loop whose count is read from elsewhere (a native thread). */
  watch(name: string, read: () => number): { unregister(): void } {
    const loop = this.add(name, read);
    return {
      unregister: () => {
        if (this.loops.get(name) === loop) this.loops.delete(name);
      },
    };
  }

  /** Names of the loops that did not advance since the last call; empty when all is well. */
  takeStalled(): string[] {
    const stalled: string[] = [];
    for (const [name, loop] of this.loops) {
      const now = loop.read();
      if (now === loop.seen && !loop.resting) stalled.push(name);
      loop.seen = now;
    }
    return stalled;
  }

  names(): string[] {
    return [...this.loops.keys()];
  }

  private add(name: string, read: () => number): Loop {
    if (this.loops.has(name)) throw new CellError("INTERNAL", `loop ${name} is registered twice`);
    // One below the present count: a loop just registered counts as having advanced.
    const loop = { read, seen: read() - 1, resting: false };
    this.loops.set(name, loop);
    return loop;
  }
}
