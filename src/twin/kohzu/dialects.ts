/** The families of controllers that the emulator can be, each a command table over the same machine. */
import { minPulses, maxPulses } from "../../cell/kohzu/codec/framing.js";
import type { StatusLayout } from "../../cell/kohzu/codec/status.js";
import { runForm, type Answer, type CommandTable, type Execution } from "./command-form.js";
import { cruxMulti, cruxUnit } from "./crux-commands.js";
import { driveCommands, type Coordinates } from "./drive-commands.js";
import type { Firmware } from "./firmware.js";
import { MultiAxisCommands } from "./multi-axis-commands.js";
import type { NetworkSettings } from "./network-role.js";
import { ScCommands } from "./sc-commands.js";
import type { StageMachine } from "./stage-machine.js";
import { StateCommands } from "./state-commands.js";
import { unitCommands } from "./unit-commands.js";

export type DialectName = "aries" | "crux" | "sc";

export interface DialectOptions {
  readonly dialect: DialectName;
  readonly firmware: Firmware;
  /** What IDN answers: `CRUX-D`, `400`. */
  readonly model: string;
  readonly cruxStatus: StatusLayout;
  readonly network: NetworkSettings;
}

export interface Dialect {
  readonly execution: Execution;
  /** What is lost with the power or by RST beyond the machine's own state. */
  readonly forget: () => void;
}

const ariesCoordinates: Coordinates = [minPulses, maxPulses];
/** A public client of a CRUX refuses more than 24 bits. */
const cruxCoordinates: Coordinates = [-8_388_607, 8_388_607];

/** ARIES and CRUX: a table, and error 803 while a completed reply is owed. */
function kosmosExecution(machine: StageMachine, table: CommandTable, announces: boolean): Execution {
  return {
    family: "aries",
    flawCodes: { "no STX": 1, "illegal character": 3, "no command": 4 },
    announces,
    execute(command, parameters, now, owing): Answer {
      const found = table.get(command);
      if (found === undefined) return { error: 4 };
      if (owing) return { error: 803 };
      return runForm(machine, found, parameters, now);
    },
  };
}

export function makeDialect(machine: StageMachine, options: DialectOptions): Dialect {
  if (options.dialect === "sc") {
    const commands = new ScCommands(machine, options.model, options.firmware[0]);
    return { execution: commands.execution, forget: () => undefined };
  }
  const aries = options.dialect === "aries";
  const coordinates = aries ? ariesCoordinates : cruxCoordinates;
  const state = new StateCommands(machine, coordinates, aries ? "aries" : options.cruxStatus);
  const multi = new MultiAxisCommands(machine, coordinates);
  const forget = (): void => {
    multi.slots.clear();
    state.forget();
  };
  const table: CommandTable = new Map([
    ...state.table(),
    ...driveCommands(machine, coordinates),
    ...multi.table(),
    ...(aries
      ? unitCommands(machine, options.firmware, options.network, forget)
      : [...cruxUnit(machine, options.model, options.firmware), ...cruxMulti(multi)]),
  ]);
  return { execution: kosmosExecution(machine, table, aries), forget };
}
