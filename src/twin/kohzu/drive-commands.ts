/** The commands that drive one axis: APS, RPS, FRP, ORG, OSC, and STP. */
import {
  axisRange,
  done,
  form,
  methodRange,
  tableRange,
  type Answer,
  type CommandTable,
} from "./command-form.js";
import type { ControllerAxis } from "./controller-axis.js";
import type { StageMachine } from "./stage-machine.js";
import { Sys } from "./system-settings.js";

/** Coordinates of the pulse counter: 28 bits with ARIES. */
export type Coordinates = readonly [number, number];

/** Why an axis may not start, or 0. */
export function refusal(axis: ControllerAxis | null, now: number): number {
  if (axis === null) return 307;
  if (axis.driving) return 309;
  if (!axis.excited) return 308;
  if (axis.limitOn("cw", now) && axis.limitOn("ccw", now)) return 307;
  if (axis.alarm) return 315;
  if (axis.settings.value(Sys.servo) === 1 && !axis.servoReady) return 321;
  const soft = axis.settings.value(Sys.softLimit) === 1;
  const crossed = axis.settings.value(Sys.softLimitPlus) <= axis.settings.value(Sys.softLimitMinus);
  return soft && crossed ? 316 : 0;
}

/** Starts one axis and answers by the response method: 0 when motion ends, 1 at once. */
export function drive(
  machine: StageMachine,
  axis: number,
  method: number,
  now: number,
  run: (axis: ControllerAxis) => number,
): Answer {
  const found = machine.axes[axis - 1] ?? null;
  const refused = refusal(found, now);
  if (refused !== 0 || found === null) return { error: refused };
  const result = run(found);
  if (method === 0) return { complete: [found] };
  return result === 317 || result === 318 ? { warning: 350 } : done;
}

/** STP: 0 is all axes. A stop while stopping is 323 when there was nothing else to stop. */
export function stop(machine: StageMachine, axis: number, emergency: boolean, now: number): Answer {
  const found = axis === 0 ? machine.present : [machine.axes[axis - 1] ?? null];
  const moving = found.filter((one) => one !== null).filter((one) => one.driving);
  const accepted = moving.map((one) => one.stop(emergency, now));
  if (accepted.length > 0 && !accepted.includes(true)) return { error: 323 };
  return { data: [], stopped: moving };
}

export function driveCommands(machine: StageMachine, coordinates: Coordinates): CommandTable {
  const [low, high] = coordinates;
  const options = { drives: true, axisAt: 0 } as const;
  return new Map([
    [
      "APS",
      form(
        [axisRange, tableRange, coordinates, methodRange],
        ([axis = 0, table = 0, target = 0, method = 0], now) =>
          drive(machine, axis, method, now, (found) =>
            found.driveTo(target, found.speedTable(table), now, true),
          ),
        options,
      ),
    ],
    [
      "RPS",
      form(
        [axisRange, tableRange, [2 * low, 2 * high], methodRange],
        ([axis = 0, table = 0, delta = 0, method = 0], now) => {
          const target = (machine.axes[axis - 1]?.pulses(now) ?? 0) + delta;
          if (target < low || target > high) return { error: 310 };
          return drive(machine, axis, method, now, (found) =>
            found.driveTo(target, found.speedTable(table), now),
          );
        },
        options,
      ),
    ],
    [
      "FRP",
      form(
        [axisRange, tableRange, [0, 1]],
        ([axis = 0, table = 0, direction = 0], now) =>
          drive(machine, axis, 1, now, (found) => {
            found.driveFreely(direction === 0 ? 1 : -1, found.speedTable(table), now);
            return 0;
          }),
        options,
      ),
    ],
    [
      "ORG",
      form(
        [axisRange, tableRange, methodRange],
        ([axis = 0, table = 0, method = 0], now) =>
          drive(machine, axis, method, now, (found) => {
            found.searchOrigin(found.speedTable(table), now);
            return 0;
          }),
        options,
      ),
    ],
    [
      // The manual's summary gives six parameters and the range of the dwell; their order is our assumption:
      // axis, table, distance, dwell in ms, times, response.
      "OSC",
      form(
        [axisRange, tableRange, [2 * low, 2 * high], [0, 65_534], [1, 65_535], methodRange],
        ([axis = 0, table = 0, delta = 0, dwellMs = 0, times = 1, method = 0], now) => {
          const target = (machine.axes[axis - 1]?.pulses(now) ?? 0) + delta;
          if (target < low || target > high) return { error: 310 };
          return drive(machine, axis, method, now, (found) =>
            found.oscillate(delta, times, dwellMs / 1e3, found.speedTable(table), now),
          );
        },
        options,
      ),
    ],
    [
      "STP",
      form(
        [
          [0, 32],
          [0, 1],
        ],
        ([axis = 0, mode = 0], now) => stop(machine, axis, mode === 1, now),
        { axisAt: 0 },
      ),
    ],
  ]);
}
