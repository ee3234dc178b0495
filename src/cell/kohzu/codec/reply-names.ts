/** Which axis a reply names behind its command: `RDP1/…` → `RDP1`, but `MPS…` → `MPS`. */
import type { CodeFamily } from "./codes.js";

/** Commands of ARIES, LYNX and CRUX whose first parameter is an axis. */
const axisCommands = new Set([
  ...["APS", "RPS", "FRP", "ORG", "OSC", "STP", "RDP", "RDE", "WRP", "WRE", "STR", "ROG", "WSY", "RSY"],
  ...["WTB", "RTB", "RSV", "RAL", "TRS", "TFR"],
]);

/** Commands of the SC series whose reply names no axis. */
const scWithoutAxis = new Set(["MPS", "SPS"]);

/**
 * The axis that the reply to a request names; undefined where it names none.
 * SC series: IDN is answered as axis 0, and STR has the axis in its second parameter.
 */
export function replyAxis(
  family: CodeFamily,
  command: string,
  parameters: readonly (number | string)[],
): number | undefined {
  if (family === "sc") {
    if (command === "IDN") return 0;
    if (scWithoutAxis.has(command)) return undefined;
  } else if (!axisCommands.has(command)) return undefined;
  const text = parameters[family === "sc" && command === "STR" ? 1 : 0];
  const axis = text === undefined || text === "" ? NaN : Number(text);
  return Number.isInteger(axis) && axis >= 0 && axis < 100 ? axis : undefined;
}
