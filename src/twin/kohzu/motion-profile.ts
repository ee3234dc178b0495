/**
 * Pulse trains as exact functions of time. A profile is a row of segments with a linear or S-shaped change of speed;
 * position, speed and the time of reaching a distance follow in closed form, so that nothing is ever stepped by a timer.
 */
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";

interface Segment {
  readonly durationS: number;
  readonly startSpeed: number;
  readonly endSpeed: number;
  /** S-curve: the speed follows 3u² − 2u³ instead of u. */
  readonly smooth: boolean;
}

const segmentDistance = (s: Segment): number => ((s.startSpeed + s.endSpeed) / 2) * s.durationS;

function distanceWithin(s: Segment, t: number): number {
  const change = s.endSpeed - s.startSpeed;
  if (s.durationS === 0) return 0;
  const u = t / s.durationS;
  return s.smooth
    ? s.startSpeed * t + change * s.durationS * (u ** 3 - u ** 4 / 2)
    : s.startSpeed * t + (change * t * u) / 2;
}

function speedWithin(s: Segment, t: number): number {
  if (s.durationS === 0) return s.endSpeed;
  const u = t / s.durationS;
  return s.startSpeed + (s.endSpeed - s.startSpeed) * (s.smooth ? u * u * (3 - 2 * u) : u);
}

/** Distances and speeds are unsigned: steps, steps/s. */
export class MotionProfile {
  readonly durationS: number;
  readonly distance: number;

  constructor(private readonly segments: readonly Segment[]) {
    this.durationS = segments.reduce((sum, s) => sum + s.durationS, 0);
    this.distance = segments.reduce((sum, s) => sum + segmentDistance(s), 0);
  }

  /** Distance covered `t` seconds after the start; constant before and after the motion. */
  at(t: number): number {
    let [left, distance] = [Math.max(0, t), 0];
    for (const segment of this.segments) {
      if (left < segment.durationS) return distance + distanceWithin(segment, left);
      left -= segment.durationS;
      distance += segmentDistance(segment);
    }
    return this.distance;
  }

  /** Speed `t` seconds after the start; 0 outside the motion. */
  speedAt(t: number): number {
    let left = t;
    if (left < 0) return 0;
    for (const segment of this.segments) {
      if (left < segment.durationS) return speedWithin(segment, left);
      left -= segment.durationS;
    }
    return 0;
  }

  /** When `distance` is reached (bisection to below a nanosecond); the whole duration if it never is. */
  timeOf(distance: number): number {
    let [low, high] = [0, this.durationS];
    if (distance >= this.distance) return high;
    while (high - low > 1e-10) {
      const middle = (low + high) / 2;
      if (this.at(middle) < distance) low = middle;
      else high = middle;
    }
    return high;
  }

  /** The first `t` seconds of this profile, then `rest`. */
  until(t: number, rest: readonly Segment[] = []): MotionProfile {
    const kept: Segment[] = [];
    let left = t;
    for (const segment of this.segments) {
      if (left <= 0) break;
      if (left >= segment.durationS) kept.push(segment);
      else {
        // A cut S-curve keeps its distance but not its shape; only its end, the cut itself, is ever observed late.
        const distance = distanceWithin(segment, left);
        const endSpeed = speedWithin(segment, left);
        kept.push(
          segment.smooth
            ? { durationS: left, startSpeed: (2 * distance) / left - endSpeed, endSpeed, smooth: false }
            : { ...segment, durationS: left, endSpeed },
        );
      }
      left -= segment.durationS;
    }
    return new MotionProfile([...kept, ...rest]);
  }

  /** The same motion over `factor` times the distance, in the same time: an interpolated axis. */
  scaled(factor: number): MotionProfile {
    return new MotionProfile(
      this.segments.map((segment) => ({
        ...segment,
        startSpeed: factor * segment.startSpeed,
        endSpeed: factor * segment.endSpeed,
      })),
    );
  }
}

/** Nothing moves for so long. */
export const pause = (durationS: number): MotionProfile =>
  new MotionProfile([{ durationS, startSpeed: 0, endSpeed: 0, smooth: false }]);

/** At one speed from start to end. */
export function constantSpeed(distance: number, speed: number): MotionProfile {
  return new MotionProfile([
    { durationS: distance / speed, startSpeed: speed, endSpeed: speed, smooth: false },
  ]);
}

/** The profile of a drive over `distance` whole steps; short drives do not reach the top speed. */
export function planMove(distance: number, table: SpeedTable): MotionProfile {
  if (distance <= 0) return new MotionProfile([]);
  const { startPps: low, topPps: top, accelerationS, decelerationS } = table;
  if (table.pattern === "rectangular" || top <= low) return constantSpeed(distance, top);
  const smooth = table.pattern === "s-curve";
  const up = (top - low) / accelerationS;
  const down = (top - low) / decelerationS;
  const ramps = ((low + top) / 2) * (accelerationS + decelerationS);
  // v² − low² = 2 a d on both ramps: the peak of a drive too short for the top speed.
  const peak = ramps <= distance ? top : Math.sqrt(low * low + (2 * distance) / (1 / up + 1 / down));
  const cruise = Math.max(0, distance - ((low + peak) / 2) * ((peak - low) / up + (peak - low) / down));
  return new MotionProfile([
    { durationS: (peak - low) / up, startSpeed: low, endSpeed: peak, smooth },
    { durationS: cruise / peak, startSpeed: peak, endSpeed: peak, smooth: false },
    { durationS: (peak - low) / down, startSpeed: peak, endSpeed: low, smooth },
  ]);
}

/**
 * `profile` broken off at `t` with the deceleration of its table. Ends on a whole step.
 */
export function decelerate(profile: MotionProfile, t: number, table: SpeedTable): MotionProfile {
  const speed = profile.speedAt(t);
  const { startPps: low, topPps: top, decelerationS } = table;
  const ramping = table.pattern !== "rectangular" && top > low && speed > low;
  const durationS = ramping ? ((speed - low) / (top - low)) * decelerationS : 0;
  const endSpeed = ramping ? low : Math.max(speed, 1);
  const ramp: Segment = { durationS, startSpeed: speed, endSpeed, smooth: false };
  const covered = profile.at(t) + segmentDistance(ramp);
  const missing = Math.ceil(covered - 1e-6) - covered;
  const tail: Segment = {
    durationS: Math.max(0, missing) / endSpeed,
    startSpeed: endSpeed,
    endSpeed,
    smooth: false,
  };
  return profile.until(t, [ramp, tail]);
}
