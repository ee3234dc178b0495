/** When each device truly moved: what the audit log of a run must be able to explain. */

export interface Motion {
  readonly device: "arm" | "stage" | "needle";
  readonly axis: number;
  readonly startS: number;
  /** undefined while it still moves. */
  readonly endS: number | undefined;
  readonly from: number;
  readonly to: number;
}

interface Open {
  startS: number;
  lastMoveS: number;
  from: number;
  position: number;
}

export class MotionLog {
  private readonly open = new Map<string, Open>();
  private readonly last = new Map<string, number>();
  readonly motions: Motion[] = [];

  /** A motion ends when its axis has stood for this long, s. */
  constructor(private readonly restS = 0.05) {}

  /** Notes the position of one axis; changes below `tolerance` are standing. */
  observe(device: Motion["device"], axis: number, position: number, nowS: number, tolerance: number): void {
    const key = `${device}/${axis}`;
    const before = this.last.get(key);
    const running = this.open.get(key);
    const moved = before !== undefined && Math.abs(position - before) > tolerance;
    if (before === undefined || moved) this.last.set(key, position);
    if (moved) {
      if (running === undefined)
        this.open.set(key, { startS: nowS, lastMoveS: nowS, from: before, position });
      else {
        running.lastMoveS = nowS;
        running.position = position;
      }
    } else if (running !== undefined && nowS - running.lastMoveS > this.restS) {
      this.open.delete(key);
      this.motions.push({
        device,
        axis,
        startS: running.startS,
        endS: running.lastMoveS,
        from: running.from,
        to: running.position,
      });
    }
  }

  /** All motions, the running ones with endS undefined. */
  all(): Motion[] {
    const running = [...this.open].map(([key, value]): Motion => {
      const [device, axis] = key.split("/");
      return {
        device: device === "arm" ? "arm" : device === "stage" ? "stage" : "needle",
        axis: Number(axis),
        startS: value.startS,
        endS: undefined,
        from: value.from,
        to: value.position,
      };
    });
    return [...this.motions, ...running];
  }
}
