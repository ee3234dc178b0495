/** What a controller tells of an axis (STR), in the layouts of its families. */
import { CellError } from "../../../base/errors.js";
import { integerField, type StageReply } from "./framing.js";

export interface AxisStatus {
  readonly driving: "stopped" | "running" | "feedback";
  readonly emergencyStop: boolean;
  readonly nearOrigin: boolean;
  readonly origin: boolean;
  readonly limitCcw: boolean;
  readonly limitCw: boolean;
  readonly softLimit: "inside" | "plus" | "minus";
  readonly encoderInRange: boolean;
  /** Error that the axis reports by itself; 0 none. Only the SC series has one. */
  readonly fault: number;
}

/**
 * ARIES/LYNX: driving, EMG, ORG/NORG, limits, soft limit, encoder in range (manual, STR).
 * CRUX: as ARIES, or one field each for CCW and CW limit; public programs disagree and its manual is not public.
 * SC: type, moving, NORG, ORG, CW limit, CCW limit, oscillating, error (public drivers agree).
 */
export const statusLayouts = ["aries", "crux-separate", "sc"] as const;
export type StatusLayout = (typeof statusLayouts)[number];

const drivingStates = ["stopped", "running", "feedback"] as const;
const softLimitStates = ["inside", "plus", "minus"] as const;

/** @throws CellError LINK_PROTOCOL */
export function decodeStatus(reply: StageReply, layout: StatusLayout = "aries"): AxisStatus {
  const field = (index: number): number => integerField(reply, index);
  const one = <T>(values: readonly T[], value: number): T => {
    const found = values[value];
    if (found === undefined)
      throw new CellError("LINK_PROTOCOL", `STR${reply.axis ?? ""}: ${reply.data.join(" ")} is no status`);
    return found;
  };
  if (layout === "sc") {
    one([undefined, "type 1"], field(0));
    return {
      driving: one(["stopped", "running"] as const, field(1)),
      emergencyStop: false,
      nearOrigin: field(2) !== 0,
      origin: field(3) !== 0,
      limitCw: field(4) !== 0,
      limitCcw: field(5) !== 0,
      softLimit: "inside",
      encoderInRange: false,
      fault: field(7),
    };
  }
  const sensors = field(2);
  const limits = field(3);
  const common = {
    driving: one(drivingStates, field(0)),
    emergencyStop: field(1) !== 0,
    nearOrigin: (sensors & 1) !== 0,
    origin: (sensors & 2) !== 0,
    fault: 0,
  };
  if (layout === "crux-separate")
    return {
      ...common,
      limitCcw: limits !== 0,
      limitCw: field(4) !== 0,
      softLimit: "inside",
      encoderInRange: false,
    };
  return {
    ...common,
    limitCcw: (limits & 1) !== 0,
    limitCw: (limits & 2) !== 0,
    softLimit: one(softLimitStates, field(4)),
    encoderInRange: field(5) !== 0,
  };
}

export function encodeStatus(status: AxisStatus, layout: StatusLayout = "aries"): string[] {
  const sensors = Number(status.nearOrigin) + 2 * Number(status.origin);
  const driving = drivingStates.indexOf(status.driving);
  const { limitCcw, limitCw } = status;
  const emergency = Number(status.emergencyStop);
  const fields = {
    aries: () => [
      driving,
      emergency,
      sensors,
      Number(limitCcw) + 2 * Number(limitCw),
      softLimitStates.indexOf(status.softLimit),
      Number(status.encoderInRange),
    ],
    "crux-separate": () => [driving, emergency, sensors, Number(limitCcw), Number(limitCw)],
    sc: () => [
      1,
      Math.min(driving, 1),
      Number(status.nearOrigin),
      Number(status.origin),
      Number(limitCw),
      Number(limitCcw),
      0,
      status.fault,
    ],
  };
  return fields[layout]().map(String);
}
