/** Motion of the slide with constant acceleration, as exact functions of time; lengths in microsteps. */

interface Stretch {
  readonly durationS: number;
  readonly speed: number;
  readonly acceleration: number;
  readonly from: number;
}

export interface SlideState {
  readonly position: number;
  readonly speed: number;
}

/** A row of stretches of constant acceleration from `startS` on; at rest before and after. */
export class SlideMotion {
  readonly endS: number;
  readonly end: number;

  private constructor(
    readonly startS: number,
    private readonly stretches: readonly Stretch[],
    start: number,
  ) {
    this.endS = startS + stretches.reduce((sum, s) => sum + s.durationS, 0);
    const last = stretches.at(-1);
    this.end =
      last === undefined
        ? start
        : last.from + last.speed * last.durationS + (last.acceleration * last.durationS ** 2) / 2;
  }

  at(now: number): SlideState {
    let left = now - this.startS;
    if (left < 0) return { position: this.stretches[0]?.from ?? this.end, speed: 0 };
    for (const s of this.stretches) {
      if (left < s.durationS)
        return {
          position: s.from + s.speed * left + (s.acceleration * left * left) / 2,
          speed: s.speed + s.acceleration * left,
        };
      left -= s.durationS;
    }
    return { position: this.end, speed: 0 };
  }

  /** Standing still for a time. */
  static wait(startS: number, position: number, durationS: number): SlideMotion {
    return new SlideMotion(startS, [{ durationS, speed: 0, acceleration: 0, from: position }], position);
  }

  /** To a stop with the given deceleration. */
  static brake(startS: number, state: SlideState, deceleration: number): SlideMotion {
    const { position, speed } = state;
    if (speed === 0) return new SlideMotion(startS, [], position);
    const acceleration = -Math.sign(speed) * deceleration;
    return new SlideMotion(
      startS,
      [{ durationS: Math.abs(speed) / deceleration, speed, acceleration, from: position }],
      position,
    );
  }

  /**
   * The quickest motion from any state to rest at `target` with one acceleration and a top speed. Overshoots only when
   * the speed at the start leaves no other way.
   */
  static to(
    startS: number,
    state: SlideState,
    target: number,
    topSpeed: number,
    acceleration: number,
  ): SlideMotion {
    const { position, speed } = state;
    const braked = position + (speed * Math.abs(speed)) / (2 * acceleration);
    const direction = Math.sign(target - braked);
    if (direction === 0) return SlideMotion.brake(startS, state, acceleration);
    const along = direction * speed;
    const distance = direction * (target - position);
    // Peak where the ramp up from `along` meets the ramp down to rest: distance = (2 v² − along²) / 2a.
    const peak = Math.min(topSpeed, Math.sqrt(acceleration * distance + along ** 2 / 2));
    const first = Math.sign(peak - along) * acceleration;
    const rampUp = Math.abs(peak - along) / acceleration;
    const ramp = first === 0 ? 0 : (peak ** 2 - along ** 2) / (2 * first);
    const cruise = Math.max(0, distance - ramp - peak ** 2 / (2 * acceleration));
    const stretches: Stretch[] = [];
    let from = position;
    const add = (durationS: number, v: number, a: number): void => {
      stretches.push({ durationS, speed: direction * v, acceleration: direction * a, from });
      from += direction * (v * durationS + (a * durationS * durationS) / 2);
    };
    add(rampUp, along, first);
    add(cruise / peak, peak, 0);
    add(peak / acceleration, peak, -acceleration);
    return new SlideMotion(startS, stretches, position);
  }

  /** When the slide first passes `place`, searched in steps of the whole motion's thousandth; undefined if never. */
  timeAt(place: number): number | undefined {
    const count = 1000;
    const side = (t: number): number => Math.sign(this.at(t).position - place);
    const span = this.endS - this.startS;
    const start = side(this.startS);
    for (let i = 1; i <= count; i++) {
      let high = this.startS + (span * i) / count;
      if (side(high) === start) continue;
      let low = this.startS + (span * (i - 1)) / count;
      while (high - low > 1e-9) {
        const middle = (low + high) / 2;
        if (side(middle) === start) low = middle;
        else high = middle;
      }
      return high;
    }
    return undefined;
  }

  /** This motion cut off at `time`, standing where it is then. */
  cut(time: number): SlideMotion {
    const kept: Stretch[] = [];
    let left = time - this.startS;
    for (const s of this.stretches) {
      if (left <= 0) break;
      kept.push(left < s.durationS ? { ...s, durationS: left } : s);
      left -= s.durationS;
    }
    return new SlideMotion(this.startS, kept, this.at(this.startS).position);
  }
}
