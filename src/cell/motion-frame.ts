/**
 * The frame in which a driver runs everything that moves. Each command that moves asks for a permit right before its
 * bytes leave; a stop or an abort withdraws the permits of everything that began before it. Work that fails after it may
 * have moved something is stopped before its error is passed on.
 */
import { CellError } from "../base/errors.js";

export interface MotionGuards {
  /** For messages: the name of the device in the cell. */
  readonly device: string;
  /** Throws while the device may not move. */
  readonly requireMotion: (what: string) => void;
  /** Stops everything the device moves. */
  readonly stop: () => Promise<unknown>;
}

export class MotionFrame {
  private stops = 0;
  private running = 0;

  constructor(private readonly guards: MotionGuards) {}

  get moving(): boolean {
    return this.running > 0;
  }

  /** To be called by every stop, before its bytes leave: nothing that began earlier may send another motion. */
  withdrawPermits(): void {
    this.stops++;
  }

  /**
   * Runs `work`, which asks `permit` before every command that moves.
   * @param afterFailure runs after the stop of something that failed on its way: to read again where things stand
   * @throws CellError LINK_ABORTED when stopped or cancelled on the way, and whatever `work` throws
   */
  async run<T>(
    what: string,
    signal: AbortSignal | undefined,
    work: (permit: () => void) => Promise<T>,
    afterFailure: () => Promise<void>,
  ): Promise<T> {
    const { device, requireMotion, stop } = this.guards;
    const before = this.stops;
    let moved = false;
    const check = (): void => {
      if (this.stops !== before) throw new CellError("LINK_ABORTED", `${device}: stopped on request`);
      if (signal?.aborted === true)
        throw new CellError("LINK_ABORTED", `${device}: the motion was cancelled`);
      requireMotion(what);
    };
    const permit = (): void => {
      check();
      moved = true;
    };
    const stopAtOnce = (): void => {
      if (moved) void stop().catch(() => undefined);
    };
    this.running++;
    signal?.addEventListener("abort", stopAtOnce, { once: true });
    try {
      check();
      const result = await work(permit);
      check();
      return result;
    } catch (error) {
      if (moved) {
        await stop().catch(() => undefined);
        await afterFailure();
      }
      throw error;
    } finally {
      signal?.removeEventListener("abort", stopAtOnce);
      this.running--;
    }
  }
}
