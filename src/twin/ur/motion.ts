/**
 * Motions of the arm as functions of their own time: nothing is integrated, so the position at any instant is exact and
 * does not depend on how often it is asked for.
 */
import type { Transform } from "../../base/transform.js";
import { flangeFor, solvePose, type DhTable } from "./arm-geometry.js";

export interface ArmPoint {
  readonly q: readonly number[];
  readonly qd: readonly number[];
}

export interface Motion {
  /** State at `t` seconds after the start; at rest at the end from `durationS` on. */
  at(t: number): ArmPoint;
  /** Infinity for a motion that only another command ends. */
  readonly durationS: number;
}

/** Way along a path and its speed. */
export interface Course {
  at(t: number): readonly [way: number, speed: number];
  readonly durationS: number;
  /** When the final deceleration begins. */
  readonly brakingS: number;
}

/**
 * Trapezoidal course over `length` (> 0) with speed and acceleration limits; triangular when too short for the speed.
 * With `durationS` the time rules: the speed is chosen so that the course takes exactly that long, if the acceleration
 * allows.
 */
export function trapezoid(length: number, speed: number, acceleration: number, durationS = 0): Course {
  let a = acceleration;
  let v = Math.min(speed, Math.sqrt(length * a));
  if (durationS > 0) {
    const root = durationS * durationS - (4 * length) / a;
    if (root >= 0) v = (a / 2) * (durationS - Math.sqrt(root));
    else {
      a = (4 * length) / (durationS * durationS);
      v = (a * durationS) / 2;
    }
  }
  const ramp = v / a;
  const cruise = Math.max(0, length / v - ramp);
  const total = 2 * ramp + cruise;
  return {
    durationS: total,
    brakingS: ramp + cruise,
    at(t) {
      if (t <= 0) return [0, 0];
      if (t >= total) return [length, 0];
      if (t < ramp) return [(a * t * t) / 2, a * t];
      if (t < ramp + cruise) return [(a * ramp * ramp) / 2 + v * (t - ramp), v];
      const left = total - t;
      return [length - (a * left * left) / 2, a * left];
    },
  };
}

/** Deceleration to rest from way `s0` at speed `v0`. */
export function braking(s0: number, v0: number, deceleration: number): Course {
  const total = Math.abs(v0) / deceleration;
  return {
    durationS: total,
    brakingS: 0,
    at(t) {
      const u = Math.max(0, Math.min(t, total));
      const slow = Math.sign(v0) * deceleration;
      return [s0 + v0 * u - (slow * u * u) / 2, t >= total ? 0 : v0 - slow * u];
    },
  };
}

export const atRest = (q: readonly number[]): Motion => {
  const point: ArmPoint = { q, qd: [0, 0, 0, 0, 0, 0] };
  return { durationS: 0, at: () => point };
};

/** Straight line in joint space; the way is the angle of the joint that moves most. */
export function jointMotion(from: readonly number[], to: readonly number[], course: Course): Motion {
  const longest = Math.max(...to.map((value, i) => Math.abs(value - (from[i] ?? 0))));
  const direction = to.map((value, i) => (longest > 0 ? (value - (from[i] ?? 0)) / longest : 0));
  return {
    durationS: course.durationS,
    at(t) {
      const [way, speed] = course.at(t);
      return {
        // The end is met to the last bit, not as a sum.
        q: way >= longest ? to : from.map((value, i) => value + (direction[i] ?? 0) * way),
        qd: direction.map((value) => value * speed),
      };
    },
  };
}

/** All joints brought to rest together, the fastest with the given deceleration. */
export function jointStop(from: ArmPoint, deceleration: number): Motion {
  const fastest = Math.max(...from.qd.map(Math.abs));
  if (fastest < 1e-12) return atRest(from.q);
  const course = braking(0, 1, deceleration / fastest);
  return {
    durationS: course.durationS,
    at(t) {
      const [way, speed] = course.at(t);
      return {
        q: from.q.map((value, i) => value + (from.qd[i] ?? 0) * way),
        qd: from.qd.map((value) => value * speed),
      };
    },
  };
}

/** A change of joint speeds with limited acceleration, then constant speed for ever. */
export function jointSpeeding(from: ArmPoint, target: readonly number[], acceleration: number): Motion {
  const change = target.map((value, i) => value - (from.qd[i] ?? 0));
  const ramp = Math.max(...change.map(Math.abs)) / acceleration;
  return {
    durationS: Infinity,
    at(t) {
      const u = Math.min(t, ramp);
      const share = ramp > 0 ? u / ramp : 1;
      return {
        q: from.q.map((value, i) => {
          const rampWay = (from.qd[i] ?? 0) * u + ((change[i] ?? 0) * share * u) / 2;
          return value + rampWay + (target[i] ?? 0) * (t - u);
        }),
        qd: from.qd.map((value, i) => value + (change[i] ?? 0) * share),
      };
    },
  };
}

/** A straight piece of one control step, of the motions that are commanded anew each step. */
export function piece(from: readonly number[], to: readonly number[], stepS: number): Motion {
  const qd = to.map((value, i) => (value - (from[i] ?? 0)) / stepS);
  return {
    durationS: Infinity,
    at: (t) => ({ q: from.map((value, i) => value + (qd[i] ?? 0) * Math.min(t, stepS)), qd }),
  };
}

/**
 * A path of the tool in space. Joint angles are solved at every control step and joined linearly, as the
 * controller's own interpolation does. Reports by `failedAt` where no posture was found.
 */
export class ToolMotion implements Motion {
  private readonly samples: number[][];
  /** Time from which the path cannot be followed. */
  failedAt = Infinity;

  /**
   * @param place where the tool is at a share 0…1 of the path
   * @param course over the length 0…1 of the path
   */
  constructor(
    private readonly table: DhTable,
    private readonly tcpOffset: readonly number[],
    private readonly place: (share: number) => Transform,
    private readonly course: Course,
    startQ: readonly number[],
    private readonly stepS: number,
  ) {
    this.samples = [[...startQ]];
  }

  get durationS(): number {
    return this.course.durationS;
  }

  /** Share of the path per second at `t`. */
  courseSpeed(t: number): number {
    return this.course.at(t)[1];
  }

  private sample(index: number): number[] {
    for (let k = this.samples.length; k <= index; k++) {
      const before = this.samples[k - 1] ?? [];
      const [share] = this.course.at(Math.min(k * this.stepS, this.course.durationS));
      const flange = flangeFor(this.place(share), this.tcpOffset);
      const found = solvePose(this.table, flange, before, 25);
      if (!found) this.failedAt = Math.min(this.failedAt, (k - 1) * this.stepS);
      this.samples.push(found ?? before);
    }
    return this.samples[index] ?? [];
  }

  at(t: number): ArmPoint {
    const still = [0, 0, 0, 0, 0, 0];
    const lastIndex = Math.ceil(this.course.durationS / this.stepS);
    if (t >= this.course.durationS) return { q: this.sample(lastIndex), qd: still };
    const index = Math.max(0, Math.floor(t / this.stepS));
    const [a, b] = [this.sample(index), this.sample(index + 1)];
    const span = Math.min(this.stepS, this.course.durationS - index * this.stepS);
    const share = (t - index * this.stepS) / span;
    return {
      q: a.map((value, i) => value + ((b[i] ?? 0) - value) * share),
      qd: a.map((value, i) => ((b[i] ?? 0) - value) / span),
    };
  }

  /** The same path brought to rest from time `t`, run at `pace` of its speed, with this deceleration along it. */
  stopAlongPath(t: number, deceleration: number, pace = 1): Motion {
    const [share, speed] = this.course.at(t);
    const now = this.at(t).q;
    return new ToolMotion(
      this.table,
      this.tcpOffset,
      this.place,
      braking(share, speed * pace, deceleration),
      now,
      this.stepS,
    );
  }
}

/** `first` runs out while `next` (which begins where it ends) is already under way: a blend without a halt. */
export function overlaid(first: Motion, sinceS: number, next: Motion): Motion {
  const end = first.at(first.durationS).q;
  return {
    durationS: Math.max(first.durationS - sinceS, next.durationS),
    at(t) {
      const a = first.at(sinceS + t);
      const b = next.at(t);
      return {
        q: b.q.map((value, i) => value + (a.q[i] ?? 0) - (end[i] ?? 0)),
        qd: b.qd.map((value, i) => value + (a.qd[i] ?? 0)),
      };
    },
  };
}
