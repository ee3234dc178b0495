/**
 * Several axes at once: MPI and MPS start drives together, SPS interpolates on a straight line at the speed of its first
 * axis. When one axis meets a limit all of them end (306, 319).
 */
import { axisRange, form, methodRange, tableRange, type Answer, type CommandTable } from "./command-form.js";
import type { ControllerAxis } from "./controller-axis.js";
import { refusal, type Coordinates } from "./drive-commands.js";
import { planMove } from "./motion-profile.js";
import type { StageMachine } from "./stage-machine.js";
import { Sys } from "./system-settings.js";

interface Slot {
  readonly axis: number;
  readonly relative: boolean;
  readonly table: number;
}

interface Part {
  readonly axis: ControllerAxis;
  readonly target: number;
  readonly table: number;
  readonly relative: boolean;
}

/** Code of two equal axes among the first four, by their places: 511 first and second … 516 third and fourth. */
const pairCodes: Readonly<Record<string, number>> = {
  "0/1": 511,
  "0/2": 512,
  "0/3": 513,
  "1/2": 514,
  "1/3": 515,
  "2/3": 516,
};

function duplicate(parts: readonly { readonly axis: ControllerAxis }[]): number {
  for (let i = 0; i < parts.length; i++)
    for (let j = i + 1; j < parts.length; j++)
      if (parts[i]?.axis === parts[j]?.axis) return pairCodes[`${i}/${j}`] ?? 510;
  return 0;
}

/** What a drive of several axes reports for the code that one of them ended with. */
const severalCode = (code: number): number =>
  code === 304 || code === 305 ? 306 : code === 317 || code === 318 ? 319 : code === 315 ? 324 : code;

/** Ends the drives of all when the first of them meets a limit. */
function endTogether(axes: readonly ControllerAxis[], results: readonly number[]): void {
  const ends = axes.flatMap((axis, i) =>
    results[i] === 304 || results[i] === 305 ? [{ atS: axis.endS ?? -Infinity, code: results[i] }] : [],
  );
  const first = ends.sort((a, b) => a.atS - b.atS)[0];
  if (first) for (const axis of axes) axis.cutAt(first.atS, first.code);
}

function answer(axes: readonly ControllerAxis[], results: readonly number[], method: number): Answer {
  endTogether(axes, results);
  if (method === 0) return { complete: axes, codeOf: severalCode };
  return results.some((result) => result === 317 || result === 318) ? { warning: 350 } : { data: [] };
}

export class MultiAxisCommands {
  /** Set by MPI; lost with the power. */
  readonly slots = new Map<number, Slot>();

  constructor(
    private readonly machine: StageMachine,
    private readonly coordinates: Coordinates,
  ) {}

  table(): CommandTable {
    const { coordinates } = this;
    return new Map([
      [
        "MPI",
        form(
          [[1, 4], axisRange, [0, 1], tableRange],
          ([slot = 0, axis = 0, type, table = 0]) => {
            this.slots.set(slot, { axis, relative: type === 1, table });
            return { data: [slot] };
          },
          { axisAt: 1 },
        ),
      ],
      [
        "MPS",
        form(
          Array.from({ length: 9 }, () => coordinates),
          (values, now) => this.driveSeveral(values, now),
          { counts: [5, 7, 9], drives: true },
        ),
      ],
      [
        "SPS",
        form(
          Array.from({ length: 8 }, () => coordinates),
          (values, now) => this.interpolate(values, now),
          { counts: [6, 8], drives: true },
        ),
      ],
    ]);
  }

  private driveSeveral(values: readonly number[], now: number): Answer {
    const { machine, slots } = this;
    const [low, high] = this.coordinates;
    const method = values.at(-1) ?? -1;
    if (method < methodRange[0] || method > methodRange[1]) return { error: 100 + values.length };
    if (slots.size === 0) return { error: 500 };
    const parts: Part[] = [];
    for (let i = 0; i < (values.length - 1) / 2; i++) {
      const number = values[2 * i] ?? 0;
      if (number < 1 || number > 4) return { error: 101 + 2 * i };
      const slot = slots.get(number);
      if (slot === undefined) return { error: 500 + number };
      const axis = machine.axes[slot.axis - 1] ?? null;
      const refused = refusal(axis, now);
      if (refused !== 0 || axis === null) return { error: refused };
      const target = (values[2 * i + 1] ?? 0) + (slot.relative ? axis.pulses(now) : 0);
      if (target < low || target > high) return { error: 505 + i };
      parts.push({ axis, target, table: slot.table, relative: slot.relative });
    }
    const twice = duplicate(parts);
    if (twice !== 0) return { error: twice };
    const results = parts.map(({ axis, target, table, relative }) =>
      axis.driveTo(target, axis.speedTable(table), now, !relative),
    );
    return answer(
      parts.map(({ axis }) => axis),
      results,
      method,
    );
  }

  private interpolate(values: readonly number[], now: number): Answer {
    const { machine } = this;
    const count = (values.length - 2) / 2;
    const [tableNumber = -1, method = -1] = values.slice(-2);
    if (tableNumber < tableRange[0] || tableNumber > tableRange[1]) return { error: 99 + values.length };
    if (method < methodRange[0] || method > methodRange[1]) return { error: 100 + values.length };
    const parts: { readonly axis: ControllerAxis; readonly delta: number }[] = [];
    for (let i = 0; i < count; i++) {
      const number = values[2 * i] ?? 0;
      if (number < axisRange[0] || number > axisRange[1]) return { error: 101 + 2 * i };
      if (number > machine.axes.length) return { error: 120 };
      const axis = machine.axes[number - 1] ?? null;
      const refused = refusal(axis, now);
      if (refused !== 0 || axis === null) return { error: refused };
      parts.push({ axis, delta: (values[2 * i + 1] ?? 0) - axis.pulses(now) });
    }
    const twice = duplicate(parts);
    if (twice !== 0) return { error: twice };
    const main = parts[0];
    if (main === undefined || main.delta === 0) return { error: 320 };
    const table = main.axis.speedTable(tableNumber);
    const profile = planMove(Math.abs(main.delta), table);
    for (const { axis, delta } of parts)
      if (table.topPps * Math.abs(delta / main.delta) > axis.settings.value(Sys.topSpeedLimit))
        return { error: 606 };
    const results = parts.map(({ axis, delta }) =>
      axis.driveAlong(delta, profile.scaled(Math.abs(delta / main.delta)), table, now),
    );
    return answer(
      parts.map(({ axis }) => axis),
      results,
      method,
    );
  }
}
