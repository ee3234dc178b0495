/**
 * Where the focus lies, from the blur of the needle's edges at a few positions. The blur says how far the focus is off but
 * not to which side; a second position tells. Pure: whoever looks asks for the next position and reports what it saw.
 */
import { leastSquares } from "../../base/least-squares.js";
import { clamp } from "../../base/units.js";

/** Blur in focus, px, and what the end of the depth of field adds to it in squares. */
const sharpestPx = 0.8;
const depthOfFieldPx = 1.2;

/** Where to look, about the start, as long as no needle is seen: it is seen out to 0.3 mm of defocus, m. */
const offsetsM = [0, 3.5e-4, -3.5e-4, 7e-4, -7e-4] as const;
/** Nearer than this the blur is measured well enough for the parabola through three positions, m. */
const closeM = 6e-5;
/** A view that has seen the needle so often and still is not close sees something else. */
const maxSeen = 5;
/** Far from focus a blur is measured up to a third too small: a step beyond goes a little farther than it says. */
const beyond = 1.2;

/** Defocus that a blur speaks of, m: σ² = 0.8² + (1.2 z / depth of field)². */
export function defocusOf(sigmaPx: number, depthOfFieldM: number): number {
  return (depthOfFieldM * Math.sqrt(Math.max(0, sigmaPx ** 2 - sharpestPx ** 2))) / depthOfFieldPx;
}

interface Seen {
  readonly focusM: number;
  readonly sigmaPx: number;
}

/**
 * The focus z₀ from positions and blurs under the known law σ² = σ₀² + c² (z − z₀)², which is linear in z₀:
 * σ² − c² z² = (σ₀² + c² z₀²) − 2 c² z₀ z. Weights 1/σ⁴: a blur is measured to a share of itself. Undefined for one position.
 */
export function focusByLaw(samples: readonly Seen[], depthOfFieldM: number): number | undefined {
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || samples.length < 2) return undefined;
  const spread = Math.max(...samples.map(({ focusM }) => Math.abs(focusM - first.focusM)));
  if (!(spread > 1e-6)) return undefined;
  const square = (depthOfFieldPx / depthOfFieldM) ** 2;
  const rows = samples.map(({ focusM, sigmaPx }) => {
    const weight = 1 / sigmaPx ** 2;
    return [weight, (weight * (focusM - first.focusM)) / spread];
  });
  const right = samples.map(
    ({ focusM, sigmaPx }) => (sigmaPx ** 2 - square * (focusM - first.focusM) ** 2) / sigmaPx ** 2,
  );
  const slope = leastSquares(rows, right, 1e-9).x[1] ?? NaN;
  return first.focusM - slope / (2 * square * spread);
}

/** Vertex of the parabola through the squares of three blurs, the middle one the least; between the outer positions. */
function lowest(less: Seen, best: Seen, more: Seen): number {
  const slope = (a: Seen, b: Seen): number => (b.sigmaPx ** 2 - a.sigmaPx ** 2) / (b.focusM - a.focusM);
  const [before, after] = [slope(less, best), slope(best, more)];
  const curvature = (after - before) / (more.focusM - less.focusM);
  const vertex = (less.focusM + best.focusM) / 2 - before / (2 * curvature);
  return clamp(vertex, less.focusM, more.focusM);
}

export class FocusHunt {
  private readonly seen: Seen[] = [];
  private readonly unseenM: number[] = [];
  /** Where the needle is about sharp, once next() is undefined; undefined when it was never found. */
  focusM: number | undefined;

  /** @param startM where the stage stands, in the middle of what is searched */
  constructor(
    private readonly startM: number,
    private readonly limits: { readonly min: number; readonly max: number },
    private readonly depthOfFieldM: number,
  ) {}

  get looks(): number {
    return this.seen.length + this.unseenM.length;
  }

  /** What was searched, for people. */
  get coverage(): string {
    const all = [...this.unseenM, ...this.seen.map(({ focusM }) => focusM)];
    const [from, to] = [Math.min(...all), Math.max(...all)].map((focusM) => (focusM * 1e3).toFixed(2));
    return `between ${from} and ${to} mm`;
  }

  add(focusM: number, sigmaPx: number | undefined): void {
    if (sigmaPx === undefined) this.unseenM.push(focusM);
    else this.seen.push({ focusM, sigmaPx });
  }

  /** Where to look next, m; undefined when the search is over. */
  next(): number | undefined {
    this.focusM = undefined;
    if (this.seen.length === 0) return this.reachable(offsetsM[this.unseenM.length]);
    const ordered = [...this.seen].sort((a, b) => a.focusM - b.focusM);
    const best = ordered.reduce((a, b) => (b.sigmaPx < a.sigmaPx ? b : a));
    const at = ordered.indexOf(best);
    const [less, more] = [ordered[at - 1], ordered[at + 1]];
    if (this.seen.length >= maxSeen || this.off(best) < closeM) {
      this.focusM = this.concluded(best);
      return undefined;
    }
    if (less !== undefined && more !== undefined) return this.within(lowest(less, best, more));
    const neighbour = less ?? more;
    return this.within(neighbour === undefined ? this.otherSide(best) : this.awayFrom(neighbour, best));
  }

  private off({ sigmaPx }: Seen): number {
    return defocusOf(sigmaPx, this.depthOfFieldM);
  }

  /**
   * Two positions, `best` the sharper: the focus lies between them when their defocuses add up to their distance, beyond the
   * sharper one when they differ by it.
   */
  private awayFrom(other: Seen, best: Seen): number {
    const apart = Math.abs(other.focusM - best.focusM);
    const [far, near] = [this.off(other), this.off(best)];
    const between = Math.abs(far + near - apart) < Math.abs(far - near - apart);
    if (between) return best.focusM + ((other.focusM - best.focusM) * near) / (far + near);
    return best.focusM + beyond * near * Math.sign(best.focusM - other.focusM);
  }

  /** By the law where there are two positions about the sharpest, else where it was; undefined for no needle's blur. */
  private concluded(best: Seen): number | undefined {
    const near = this.seen.filter(({ focusM }) => Math.abs(focusM - best.focusM) < 4e-4);
    const off = this.off(best);
    // Where even the sharpest look is far from focus after all, something else than the needle was measured.
    if (off >= 3 * closeM) return undefined;
    const lawful = focusByLaw(near, this.depthOfFieldM) ?? best.focusM;
    return clamp(lawful, best.focusM - off, best.focusM + off);
  }

  /**
   * One position leaves two places. Not one beside which nothing was seen though it would have to be sharper there; else the
   * one nearer to the start.
   */
  private otherSide(seen: Seen): number {
    const { focusM } = seen;
    const off = this.off(seen);
    const places = [focusM + off, focusM - off].filter(
      (place) => place > this.limits.min && place < this.limits.max,
    );
    const possible = places.filter((place) => this.unseenM.every((unseen) => Math.abs(unseen - place) > off));
    const nearest = (list: readonly number[]): number | undefined =>
      [...list].sort((a, b) => Math.abs(a - this.startM) - Math.abs(b - this.startM))[0];
    return nearest(possible) ?? nearest(places) ?? focusM;
  }

  private reachable(offsetM: number | undefined): number | undefined {
    return offsetM === undefined ? undefined : this.within(this.startM + offsetM);
  }

  private within(focusM: number): number {
    return clamp(focusM, this.limits.min, this.limits.max);
  }
}
