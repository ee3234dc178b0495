/**
 * Where a CRUX (2 axes, serial line) differs from an ARIES, as public client programs show it: its identity, and MPI
 * without slots. Its manual is not public; that the rest of the table is that of the ARIES is our assumption.
 */
import { done, form, tableRange, type CommandTable, type Form } from "./command-form.js";
import type { MultiAxisCommands } from "./multi-axis-commands.js";
import type { StageMachine } from "./stage-machine.js";
import type { Firmware } from "./firmware.js";

/** IDN answers the model and the version times 1000; REM releases the emergency lock. */
export function cruxUnit(machine: StageMachine, model: string, firmware: Firmware): CommandTable {
  const version = 1000 * firmware[0] + 100 * firmware[1] + firmware[2];
  return new Map<string, Form>([
    ["IDN", form([], () => ({ data: [model, version] }))],
    [
      "REM",
      form([], () => {
        if (machine.emergencyInput) return { error: 801 };
        machine.emergencyLock = false;
        return done;
      }),
    ],
  ]);
}

/** MPI axis/type/table: the axis is the slot. */
export function cruxMulti(multi: MultiAxisCommands): CommandTable {
  return new Map<string, Form>([
    [
      "MPI",
      form(
        [[1, 2], [0, 1], tableRange],
        ([axis = 0, type, table = 0]) => {
          multi.slots.set(axis, { axis, relative: type === 1, table });
          return { data: [axis] };
        },
        { axisAt: 0 },
      ),
    ],
  ]);
}
