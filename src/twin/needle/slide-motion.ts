/** Motion of the slide as exact functions of time: stretches of constant acceleration, or a sine; lengths in microsteps. */

interface Stretch {
  readonly durationS: number;
  readonly speed: number;
  readonly acceleration: number;
  readonly from: number;
}

interface Sine {
  readonly from: number;
  readonly amplitude: number;
  readonly periodS: number;
}

export interface SlideState {
  readonly position: number;
  readonly speed: number;
}

/** Slack of comparisons of places, microsteps: far below what an encoder sees. */
const sameM = 1e-6;

/** A row of stretches of constant acceleration (or whole periods of a sine) from `startS` on; at rest before and after. */
export class SlideMotion {
  readonly endS: number;
  readonly end: number;

  private constructor(
    readonly startS: number,
    private readonly stretches: readonly Stretch[],
    start: number,
    private readonly wave?: Sine,
    waveS = 0,
  ) {
    if (wave !== undefined) {
      this.endS = startS + waveS;
      this.end = sineAt(wave, waveS === Infinity ? 0 : waveS).position;
      return;
    }
    this.endS = startS + stretches.reduce((sum, s) => sum + s.durationS, 0);
    const last = stretches.at(-1);
    this.end =
      last === undefined
        ? start
        : last.from + last.speed * last.durationS + (last.acceleration * last.durationS ** 2) / 2;
  }

  at(now: number): SlideState {
    let left = now - this.startS;
    if (this.wave !== undefined)
      return now < this.endS && left >= 0 ? sineAt(this.wave, left) : { position: this.end, speed: 0 };
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

  /**
   * Periods of a sine that begins and ends at rest at `position` and reaches `position + 2 * amplitude` in between.
   * @param periods whole periods, or Infinity
   */
  static sine(
    startS: number,
    position: number,
    amplitude: number,
    periodS: number,
    periods: number,
  ): SlideMotion {
    return new SlideMotion(startS, [], position, { from: position, amplitude, periodS }, periods * periodS);
  }

  /**
   * When the slide, from `fromS` on, first runs into `place`; undefined if never. Standing at the place counts as
   * standing above it: going deeper runs into it, withdrawing does not.
   */
  timeAt(place: number, fromS = this.startS): number | undefined {
    const count = 1000;
    const first = Math.max(fromS, this.startS);
    const last = this.wave === undefined ? this.endS : Math.min(this.endS, first + this.wave.periodS);
    if (!(last > first)) return undefined;
    const above = this.at(first).position <= place + sameM;
    const passed = (t: number): boolean =>
      above ? this.at(t).position > place + sameM : this.at(t).position < place - sameM;
    for (let i = 1; i <= count; i++) {
      let high = first + ((last - first) * i) / count;
      if (!passed(high)) continue;
      let low = first + ((last - first) * (i - 1)) / count;
      while (high - low > 1e-9) {
        const middle = (low + high) / 2;
        if (passed(middle)) high = middle;
        else low = middle;
      }
      return low;
    }
    return undefined;
  }

  /** This motion cut off at `time`, standing where it is then. */
  cut(time: number): SlideMotion {
    if (this.wave !== undefined)
      return new SlideMotion(this.startS, [], 0, this.wave, Math.min(time, this.endS) - this.startS);
    const kept: Stretch[] = [];
    let left = time - this.startS;
    for (const s of this.stretches) {
      if (left <= 0) break;
      kept.push(left < s.durationS ? { ...s, durationS: left } : s);
      left -= s.durationS;
    }
    return new SlideMotion(this.startS, kept, this.at(this.startS).position);
  }

  /** When the period that runs at `now` ends; `endS` for anything but a sine. */
  periodEndS(now: number): number {
    if (this.wave === undefined) return this.endS;
    const { periodS } = this.wave;
    return Math.min(this.endS, this.startS + Math.ceil((now - this.startS) / periodS) * periodS);
  }
}

function sineAt({ from, amplitude, periodS }: Sine, t: number): SlideState {
  const omega = (2 * Math.PI) / periodS;
  return {
    position: from + amplitude * (1 - Math.cos(omega * t)),
    speed: amplitude * omega * Math.sin(omega * t),
  };
}
