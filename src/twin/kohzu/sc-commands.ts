/**
 * The SC series (SC-200, 400, 800, 210, 410), as public drivers speak to it: seven or eight parameters to a drive, one
 * speed per axis (ASI), STR with the axis behind its type, and an STP that answers only when the axis has stopped. Its
 * manual is not public: why a drive is refused is told by the numbers of the ARIES, which is our assumption.
 */
import type { SpeedTable } from "../../cell/kohzu/codec/speed-table.js";
import {
  done,
  form,
  methodRange,
  runForm,
  type Answer,
  type CommandTable,
  type Execution,
  type Form,
} from "./command-form.js";
import type { ControllerAxis } from "./controller-axis.js";
import { drive, stop, type Coordinates } from "./drive-commands.js";
import { status } from "./state-commands.js";
import type { StageMachine } from "./stage-machine.js";

const axisRange = [1, 8] as const;
const any = [0, 9] as const;
const coordinates: Coordinates = [-134_217_728, 134_217_727];
/** Excitation: 0 on, 1 off. */
const excitationSetting = 21;
const fastestPps = 4_095_500;
/** Warning: the target is the present position. */
const alreadyThere = 1;

export class ScCommands {
  readonly execution: Execution;
  /** The nine values of ASI behind the speeds, kept for RMS. */
  private readonly others = new Map<number, readonly number[]>();

  /** @param model what IDN names: 200, 400, 800 */
  constructor(
    private readonly machine: StageMachine,
    private readonly model: string,
    private readonly version: number,
  ) {
    const table = this.table();
    this.execution = {
      family: "sc",
      flawCodes: { "no STX": 1, "illegal character": 4, "no command": 5 },
      announces: false,
      execute(command, parameters, now, owing): Answer {
        const found = table.get(command);
        if (found === undefined) return { error: 5 };
        // A stop is heard even while a drive owes its reply; that reply never comes then.
        if (owing && command !== "STP") return { error: 803 };
        return runForm(machine, found, parameters, now);
      },
    };
  }

  private axis(number: number): ControllerAxis | null {
    return this.machine.axes[number - 1] ?? null;
  }

  private drive(
    axis: number,
    method: number,
    now: number,
    target: (found: ControllerAxis) => number,
  ): Answer {
    const found = this.axis(axis);
    if (found !== null && !found.driving && target(found) === found.pulses(now))
      return { warning: alreadyThere };
    return drive(this.machine, axis, method, now, (one) => one.driveTo(target(one), one.speedTable(0), now));
  }

  private table(): CommandTable {
    const { machine } = this;
    const driveForm = (ranges: Form["ranges"], run: Form["run"]): Form =>
      form([axisRange, ...ranges], run, { drives: true, axisAt: 0 });
    const read = (second: readonly [number, number], run: Form["run"]): Form =>
      form([axisRange, second], run, { axisAt: 0 });
    return new Map<string, Form>([
      ["IDN", form([], () => ({ data: [this.model, this.version] }))],
      [
        "STR",
        form(
          [[1, 1], axisRange],
          ([, axis = 0], now) => ({ data: status(machine, this.axis(axis), "sc", now) }),
          { axisAt: 1 },
        ),
      ],
      ["RDP", read([0, 0], ([axis = 0], now) => ({ data: [this.axis(axis)?.pulses(now) ?? 0] }))],
      [
        "WRP",
        read(coordinates, ([axis = 0, value = 0]) =>
          (this.axis(axis)?.writePulses(value) ?? true) ? done : { error: 311 },
        ),
      ],
      [
        "RSY",
        read([0, 99], ([axis = 0, number = 0]) =>
          number === excitationSetting
            ? { data: [number, Number(this.axis(axis)?.excited === false)] }
            : { error: 102 },
        ),
      ],
      [
        "COF",
        read([0, 1], ([axis = 0, off]) => {
          if (this.axis(axis) !== null) machine.excite(axis, off === 0);
          return done;
        }),
      ],
      [
        "ASI",
        form(
          [
            axisRange,
            [1, fastestPps],
            [1, fastestPps],
            [1, 10_000],
            [1, 10_000],
            ...Array.from({ length: 9 }, () => [0, 65_535] as const),
          ],
          (values) => this.writeSpeed(values),
          { axisAt: 0 },
        ),
      ],
      ["RMS", form([axisRange], ([axis = 0]) => this.readSpeed(axis), { axisAt: 0 })],
      // Speed pattern, two values, target or distance, two values, response method.
      [
        "APS",
        driveForm(
          [any, any, any, coordinates, any, any, methodRange],
          ([axis = 0, , , , target = 0, , , method = 0], now) => this.drive(axis, method, now, () => target),
        ),
      ],
      [
        "RPS",
        driveForm(
          [any, any, any, coordinates, any, any, methodRange],
          ([axis = 0, , , , delta = 0, , , method = 0], now) => {
            const start = this.axis(axis)?.pulses(now) ?? 0;
            return this.drive(axis, method, now, () => start + delta);
          },
        ),
      ],
      [
        "FRP",
        driveForm([any, any, any, [0, 1], methodRange], ([axis = 0, , , , direction], now) =>
          drive(machine, axis, 1, now, (found) => {
            found.driveFreely(direction === 1 ? 1 : -1, found.speedTable(0), now);
            return 0;
          }),
        ),
      ],
      [
        // The method in the fifth place: 3 is what all public programs send. Its search ends on the near-origin edge.
        "ORG",
        driveForm([any, any, any, any, methodRange], ([axis = 0, , , , , method = 0], now) =>
          drive(machine, axis, method, now, (found) => {
            found.searchOrigin(found.speedTable(0), now, 4);
            return 0;
          }),
        ),
      ],
      [
        "STP",
        form(
          [axisRange, [0, 1]],
          ([axis = 0, mode = 0], now) => {
            const stopped = stop(machine, axis, mode === 1, now);
            if ("error" in stopped) return stopped;
            const found = this.axis(axis);
            const moving = "stopped" in stopped ? (stopped.stopped ?? []) : [];
            return found === null ? done : { complete: [found], codeOf: () => 0, stopped: moving };
          },
          { axisAt: 0 },
        ),
      ],
    ]);
  }

  private writeSpeed(values: readonly number[]): Answer {
    const [axis = 0, startPps = 0, topPps = 0, acceleration = 0, deceleration = 0, ...others] = values;
    const found = this.axis(axis);
    if (found === null) return done;
    if (found.driving) return { error: 313 };
    const speed: SpeedTable = {
      startPps: Math.min(startPps, topPps),
      topPps,
      accelerationS: acceleration / 100,
      decelerationS: deceleration / 100,
      pattern: "trapezoid",
    };
    found.tables[0] = speed;
    this.others.set(axis, others);
    return done;
  }

  /** Start, top, eleven other values, acceleration, deceleration: public drivers read these four places. */
  private readSpeed(axis: number): Answer {
    const speed = this.axis(axis)?.speedTable(0);
    if (speed === undefined) return { data: Array.from({ length: 15 }, () => 0) };
    const others = this.others.get(axis) ?? Array.from({ length: 9 }, () => 0);
    return {
      data: [
        speed.startPps,
        speed.topPps,
        ...others,
        0,
        0,
        Math.round(speed.accelerationS * 100),
        Math.round(speed.decelerationS * 100),
      ],
    };
  }
}
