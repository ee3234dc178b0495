/** The commands that read and write the state of an axis: counters, status, settings, speed tables, servo, trigger. */
import { encodeStatus, type StatusLayout } from "../../cell/kohzu/codec/status.js";
import { speedPatterns, speedTableParameters, type SpeedTable } from "../../cell/kohzu/codec/speed-table.js";
import {
  anyNumber,
  axisRange,
  done,
  form,
  type Answer,
  type CommandTable,
  type Form,
} from "./command-form.js";
import type { ControllerAxis } from "./controller-axis.js";
import type { Coordinates } from "./drive-commands.js";
import { acceptTable, fastestPps, rampSteps } from "./speed-table.js";
import type { StageMachine } from "./stage-machine.js";
import { Sys } from "./system-settings.js";

const describeTable = (n: number, table: SpeedTable): Answer => ({
  data: [...speedTableParameters(n, table), ...rampSteps(table)],
});

/** STR; an axis without a stage shows both limits, as its open inputs do. */
export function status(
  machine: StageMachine,
  axis: ControllerAxis | null,
  layout: StatusLayout,
  now: number,
): string[] {
  const found = axis?.status(now, machine.emergencyInput);
  if (found !== undefined && found.driving !== "stopped" && machine.idleLies > 0) {
    machine.idleLies--;
    return encodeStatus({ ...found, driving: "stopped" }, layout);
  }
  return encodeStatus(
    found ?? {
      driving: "stopped",
      emergencyStop: machine.emergencyInput,
      nearOrigin: false,
      origin: false,
      limitCcw: true,
      limitCw: true,
      softLimit: "inside",
      encoderInRange: false,
      fault: 0,
    },
    layout,
  );
}

export class StateCommands {
  /** Axes whose trigger output is selected (TRS), and how often each was fired. */
  private readonly triggers = new Map<number, number>();

  constructor(
    private readonly machine: StageMachine,
    private readonly coordinates: Coordinates,
    private readonly layout: StatusLayout,
  ) {}

  /** How often the trigger of an axis has been fired since it was selected; undefined while it is not. */
  triggerCount(axis: number): number | undefined {
    return this.triggers.get(axis);
  }

  forget(): void {
    this.triggers.clear();
  }

  table(): CommandTable {
    const { machine, coordinates, layout } = this;
    const at = (axis: number): ControllerAxis | null => machine.axes[axis - 1] ?? null;
    const read = (run: (axis: ControllerAxis | null, now: number) => readonly (string | number)[]): Form =>
      form([axisRange], ([axis = 0], now) => ({ data: run(at(axis), now) }), { axisAt: 0 });
    const axisForm = (ranges: Form["ranges"], run: Form["run"]): Form =>
      form([axisRange, ...ranges], run, { axisAt: 0 });
    return new Map<string, Form>([
      ["RDP", read((axis, now) => [axis?.pulses(now) ?? 0])],
      ["RDE", read((axis, now) => [axis?.encoder(now) ?? 0])],
      ["STR", read((axis, now) => status(machine, axis, layout, now))],
      ["ROG", read((axis) => [Number(axis?.homed ?? false)])],
      // Ready, on, alarm: the order is our assumption.
      [
        "RSV",
        read((axis) => [
          Number(axis?.servoReady ?? false),
          axis?.settings.value(Sys.servo) ?? 0,
          Number(axis?.alarm ?? false),
        ]),
      ],
      [
        "RAL",
        axisForm([], ([axis = 0]) => {
          const found = at(axis);
          if (found) found.alarm = false;
          return done;
        }),
      ],
      ["RSY", axisForm([anyNumber], ([axis, n]) => this.readSetting(axis, n))],
      [
        "WSY",
        axisForm([anyNumber, anyNumber], ([axis, n, value], now) => this.writeSetting(axis, n, value, now)),
      ],
      [
        "RTB",
        axisForm([[0, 11]], ([axis = 0, n = 0]) => {
          const found = at(axis);
          return found === null ? { data: [n, 0, 0, 0, 0, 1, 0, 0] } : describeTable(n, found.speedTable(n));
        }),
      ],
      [
        "WTB",
        axisForm(
          [
            [0, 11],
            [1, fastestPps / 2],
            [2, fastestPps],
            [0, 10_000],
            [0, 10_000],
            [1, 3],
          ],
          (values) => this.writeTable(values),
        ),
      ],
      [
        "WRP",
        axisForm([coordinates], ([axis = 0, value = 0]) =>
          (at(axis)?.writePulses(value) ?? true) ? done : { error: 311 },
        ),
      ],
      [
        "WRE",
        axisForm([coordinates], ([axis = 0, value = 0], now) =>
          (at(axis)?.writeEncoder(value, now) ?? true) ? done : { error: 312 },
        ),
      ],
      // Trigger output of an axis selected (1) or not (0), and fired: the parameters are our assumption.
      [
        "TRS",
        axisForm([[0, 1]], ([axis = 0, on]) => {
          if (at(axis)?.driving === true) return { error: 701 };
          if (on === 1) this.triggers.set(axis, 0);
          else this.triggers.delete(axis);
          return done;
        }),
      ],
      [
        "TFR",
        axisForm([], ([axis = 0]) => {
          const fired = this.triggers.get(axis);
          if (fired !== undefined) this.triggers.set(axis, fired + 1);
          return done;
        }),
      ],
    ]);
  }

  private readSetting(axis = 0, number = 0): Answer {
    const value = this.machine.axes[axis - 1]?.settings.get(number);
    return value === undefined ? { error: 121 } : { data: [number, value] };
  }

  private writeSetting(axis = 0, number = 0, value = 0, now: number): Answer {
    const found = this.machine.axes[axis - 1];
    if (found?.settings.get(number) === undefined) return { error: 121 };
    if (found.driving) return { error: 313 };
    if (!found.settings.accepts(number, value)) return { error: 103 };
    if (number === Sys.triggerType && this.triggers.has(axis)) return { error: 700 };
    if (!this.machine.ignoreSettings) {
      found.settings.set(number, value);
      if (number === Sys.excitation) found.excite(value === 1, now);
    }
    return { data: [number] };
  }

  private writeTable(values: readonly number[]): Answer {
    const [axis = 0, n = 0, start = 0, top = 0, acceleration = 0, deceleration = 0, pattern = 1] = values;
    const found = this.machine.axes[axis - 1];
    if (!found) return { error: 307 };
    const table = acceptTable(
      { start, top, acceleration, deceleration, pattern: speedPatterns[pattern - 1] ?? "trapezoid" },
      found.settings.value(Sys.topSpeedLimit),
    );
    if (typeof table === "number") return { error: table };
    found.tables[n] = table;
    return describeTable(n, table);
  }
}
