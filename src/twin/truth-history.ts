/** The last minutes of the twin's truth in one flat ring, so that any past moment can be asked for. */
import type { MechanicsSample } from "./mechanics.js";

const fields = 17;

export class TruthHistory {
  private readonly data: Float64Array;
  private count = 0;

  /** @param capacity samples kept; at one per 10 ms, 90,000 are 15 minutes. */
  constructor(private readonly capacity = 90_000) {
    this.data = new Float64Array(capacity * fields);
  }

  push(s: MechanicsSample): void {
    const at = (this.count % this.capacity) * fields;
    this.data.set(
      [s.timeS, ...s.tip, ...s.axis, ...s.shift, ...s.focusM, ...s.wanderM[0], ...s.wanderM[1], s.light],
      at,
    );
    this.count++;
  }

  /** The moment `timeS`, interpolated; undefined when it lies outside what is kept. */
  at(timeS: number): MechanicsSample | undefined {
    const kept = Math.min(this.count, this.capacity);
    if (kept === 0) return undefined;
    let low = this.count - kept;
    let high = this.count - 1;
    if (timeS < this.timeOf(low) || timeS > this.timeOf(high) + 0.1) return undefined;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.timeOf(middle) <= timeS) low = middle;
      else high = middle;
    }
    const a = this.row(low);
    const b = this.row(high);
    const t0 = a[0] ?? 0;
    const t1 = b[0] ?? 0;
    const k = t1 > t0 ? Math.min(1, Math.max(0, (timeS - t0) / (t1 - t0))) : 0;
    const v = Array.from(a, (value, i) => value + k * ((b[i] ?? 0) - value));
    const get = (i: number): number => v[i] ?? 0;
    return {
      timeS: get(0),
      tip: [get(1), get(2), get(3)],
      axis: [get(4), get(5), get(6)],
      shift: [get(7), get(8), get(9)],
      focusM: [get(10), get(11)],
      wanderM: [
        [get(12), get(13)],
        [get(14), get(15)],
      ],
      light: get(16),
    };
  }

  private timeOf(index: number): number {
    return this.data[(index % this.capacity) * fields] ?? 0;
  }

  private row(index: number): Float64Array {
    const at = (index % this.capacity) * fields;
    return this.data.subarray(at, at + fields);
  }
}
