/** Looks at the cell, bounded in time: the observation of a cycle, and the state that is read anew for the gate. */
import { withDeadline } from "../../base/clock.js";
import { asCellError } from "../../base/errors.js";
import type { CellState } from "../safety/types.js";
import type { Capture, LoopOptions, LoopPorts } from "./ports.js";

/** Late captures give their leases back. @throws CellError LINK_TIMEOUT, and what the observation failed with */
export async function takeObservation(
  ports: LoopPorts,
  options: LoopOptions,
  cycle: number,
  interrupted: AbortSignal,
): Promise<Capture> {
  const capture = ports.observe(cycle, interrupted);
  try {
    return await withDeadline(capture, options.observeLimitS, "an observation");
  } catch (error) {
    capture.then((late) => late.release()).catch(() => undefined);
    throw error;
  }
}

/** A link that fails leaves the state unread, which refuses; a defect is thrown. */
export async function readFreshState(ports: LoopPorts, options: LoopOptions): Promise<CellState | undefined> {
  try {
    return await withDeadline(ports.readState(), options.limits.stateAgeS, "the state for the gate");
  } catch (error) {
    if (asCellError(error).category === "software") throw error;
    return undefined;
  }
}
