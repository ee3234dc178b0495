/**
 * Several axes under way at once: each is started with a Quick reply, looked at until it was seen stopped twice, and
 * must then stand at its target. Completion replies are never waited for: they are lost when another client stops the
 * axis.
 */
import { monotonicNow, systemClock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import type { KohzuAxis } from "./axis-config.js";
import type { SpeedTable } from "./codec/speed-table.js";
import type { StageDialect } from "./stage-dialect.js";

export interface AxisMove {
  readonly axis: KohzuAxis;
  readonly from: number;
  /** Counter values to go to one after the other. */
  readonly waypoints: readonly number[];
  readonly table: number;
  readonly speed: SpeedTable;
}

export interface MoveContext {
  readonly name: string;
  readonly pollS: number;
  readonly signal: AbortSignal | undefined;
  /** Throws when motion is no longer allowed; asked right before every command that moves. */
  readonly permit: () => void;
}

/** Slack over the computed time of a move: load on this machine, wire time, settling. */
const slackS = 3;

/** Time of a drive at most: both ramps in full, the rest at top speed. */
function longestS(distance: number, speed: SpeedTable): number {
  return distance / speed.topPps + speed.accelerationS + speed.decelerationS;
}

interface Progress {
  readonly move: AxisMove;
  readonly deadlineS: number;
  next: number;
  stoppedLooks: number;
}

/** @throws CellError DEVICE_LIMIT, DEVICE_NOT_SETTLED, DEVICE_EMERGENCY_STOP, DEVICE_FAULT, DEVICE_REFUSED, LINK_TIMEOUT, LINK_ABORTED */
export async function runMoves(
  dialect: StageDialect,
  moves: readonly AxisMove[],
  context: MoveContext,
): Promise<void> {
  const startS = monotonicNow();
  const under: Progress[] = [];
  for (const move of moves) {
    let [at, timeS] = [move.from, 0];
    for (const waypoint of move.waypoints) {
      timeS += longestS(Math.abs(waypoint - at), move.speed);
      at = waypoint;
    }
    const progress: Progress = { move, deadlineS: startS + timeS + slackS, next: 0, stoppedLooks: 0 };
    await drive(dialect, progress, context);
    under.push(progress);
  }
  let left = under;
  while (left.length > 0) {
    await systemClock.sleep(context.pollS, context.signal);
    for (const progress of left) await look(dialect, progress, context);
    left = left.filter(({ move, next }) => next < move.waypoints.length);
  }
}

async function drive(dialect: StageDialect, progress: Progress, context: MoveContext): Promise<void> {
  const { axis, table, waypoints } = progress.move;
  const target = waypoints[progress.next];
  if (target === undefined) return;
  progress.stoppedLooks = 0;
  const { signal, permit } = context;
  await dialect.drive(axis, table, target, { signal, permit });
}

async function look(dialect: StageDialect, progress: Progress, context: MoveContext): Promise<void> {
  const { axis, waypoints } = progress.move;
  const { signal, name } = context;
  context.permit();
  const target = waypoints[progress.next];
  if (target === undefined) return;
  const status = await dialect.status(axis.number, signal);
  if (status.emergencyStop)
    throw new CellError(
      "DEVICE_EMERGENCY_STOP",
      `${name}: axis ${axis.number} was stopped by the emergency stop`,
    );
  if (status.fault !== 0)
    throw new CellError("DEVICE_FAULT", `${name}: axis ${axis.number} reports error ${status.fault}`);
  progress.stoppedLooks = status.driving === "stopped" ? progress.stoppedLooks + 1 : 0;
  if (progress.stoppedLooks < 2) {
    if (monotonicNow() > progress.deadlineS)
      throw new CellError(
        "DEVICE_NOT_SETTLED",
        `${name}: axis ${axis.number} still moves long after it should stand at ${target}`,
      );
    return;
  }
  const pulses = await dialect.position(axis.number, signal);
  if (pulses !== target) {
    const limit = status.limitCw ? "on its CW limit" : status.limitCcw ? "on its CCW limit" : undefined;
    throw new CellError(
      limit === undefined ? "DEVICE_NOT_SETTLED" : "DEVICE_LIMIT",
      `${name}: axis ${axis.number} stopped ${limit ?? "short"} at ${pulses}, commanded ${target}`,
    );
  }
  progress.next++;
  await drive(dialect, progress, context);
}
