/** One stretch of a drive, cut at the limit switch in its way. */
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";
import { standing, type Leg } from "./drive-plan.js";
import { decelerate, planMove } from "./motion-profile.js";
import type { StageSensors } from "./stage-sensors.js";

/** What stands in the way. */
export interface Obstacles {
  readonly sensors: StageSensors;
  readonly slip: number;
  readonly excited: boolean;
  /** Whether a switch stops at once (system setting 99) or with the ramp of the table. */
  readonly stopsAtOnce: boolean;
  /** Whether the switch on the way is closed already where the stretch begins. */
  readonly blocked: (direction: 1 | -1) => boolean;
}

export interface PlannedLeg {
  readonly leg: Leg;
  /** 304 or 305 when a limit switch ends it, else 0. */
  readonly limit: number;
}

/** @param profile of the whole stretch; that of the table unless given */
export function planLeg(
  from: number,
  to: number,
  table: SpeedTable,
  { sensors, slip, excited, stopsAtOnce, blocked }: Obstacles,
  profile = planMove(Math.abs(to - from), table),
): PlannedLeg {
  const nothing = standing(from, table);
  if (to === from) return { leg: nothing, limit: 0 };
  const direction = to > from ? 1 : -1;
  const [side, code] = direction > 0 ? (["cw", 304] as const) : (["ccw", 305] as const);
  const stuck = sensors.stuckAt(side);
  if (stuck === true || blocked(direction)) return { leg: nothing, limit: code };
  const whole: Leg = { from, to, profile, table };
  // A switch that never closes lets the drive run on: the table meets its hard stop and steps are lost.
  if (stuck === false || !excited) return { leg: whole, limit: 0 };
  const switchAt = direction * sensors.limitSteps - slip;
  if (direction * (to - switchAt) < 0) return { leg: whole, limit: 0 };
  const distance = direction * (switchAt - from);
  if (distance <= 0) return { leg: nothing, limit: code };
  const reached = profile.timeOf(distance);
  const cut = stopsAtOnce ? profile.until(reached) : decelerate(profile, reached, table);
  return {
    leg: { from, to: from + direction * Math.round(cut.distance), profile: cut, table },
    limit: code,
  };
}
