/** Speed tables on the wire of the KOSMOS family (ARIES, LYNX, CRUX). */
import { CellError } from "../../../base/errors.js";
import { integerField, type StageReply } from "./framing.js";

/** One of the tables 0…11 of an axis; times on the wire are multiples of 10 ms. */
export interface SpeedTable {
  readonly startPps: number;
  readonly topPps: number;
  readonly accelerationS: number;
  readonly decelerationS: number;
  readonly pattern: "rectangular" | "trapezoid" | "s-curve";
}

export const speedPatterns = ["rectangular", "trapezoid", "s-curve"] as const;

/** From the reply to WTB or RTB: table, start, top, acceleration, deceleration, pattern. @throws CellError LINK_PROTOCOL */
export function decodeSpeedTable(reply: StageReply): SpeedTable {
  const pattern = speedPatterns[integerField(reply, 5) - 1];
  if (pattern === undefined) throw new CellError("LINK_PROTOCOL", `${reply.command}: no such speed pattern`);
  return {
    startPps: integerField(reply, 1),
    topPps: integerField(reply, 2),
    accelerationS: integerField(reply, 3) / 100,
    decelerationS: integerField(reply, 4) / 100,
    pattern,
  };
}

/** Parameters of WTB after the axis. */
export function speedTableParameters(table: number, speed: SpeedTable): number[] {
  return [
    table,
    speed.startPps,
    speed.topPps,
    Math.round(speed.accelerationS * 100),
    Math.round(speed.decelerationS * 100),
    speedPatterns.indexOf(speed.pattern) + 1,
  ];
}
