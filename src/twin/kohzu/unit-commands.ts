/** The commands that concern the ARIES as a whole: identity, device map, locks, general I/O, network, reset. */
import { done, form, textForm, type CommandTable, type Form, type TextForm } from "./command-form.js";
import type { StageMachine } from "./stage-machine.js";

export type Firmware = readonly [number, number, number];

/** RAX of firmware up to 1.1.1 ends before the map. */
const olderThan = (firmware: Firmware, than: Firmware): boolean => {
  const i = firmware.findIndex((part, index) => part !== than[index]);
  return i >= 0 && (firmware[i] ?? 0) < (than[i] ?? 0);
};

/** General inputs and outputs; how many there are is our assumption. */
const ioBits: readonly [number, number] = [0, 255];

const dottedQuad = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) && text.split(".").every((part) => Number(part) <= 255);

export function unitCommands(
  machine: StageMachine,
  firmware: Firmware,
  resetOthers: () => void,
): CommandTable {
  // Role (0 host, 1 client, 2 Telnet), address, mask, port: as delivered. Changed by WIP, in force after a power cycle.
  let network = ["0", "192.168.1.120", "255.0.0.0", "12321"];
  return new Map<string, Form | TextForm>([
    ["IDN", form([], () => ({ data: ["ARIES", ...firmware] }))],
    [
      "RAX",
      form([], () => {
        machine.linkLock = false;
        const count = machine.axes.length;
        if (olderThan(firmware, [1, 1, 2])) return { data: [count, count] };
        const bits = Array.from({ length: 64 }, (_, i) => (i < count ? "1" : "0")).join("");
        return { data: [count, count, ...Array.from({ length: 8 }, (_, i) => bits.slice(8 * i, 8 * i + 8))] };
      }),
    ],
    [
      "REM",
      form([], () => {
        if (machine.emergencyInput) return { error: 801 };
        machine.emergencyLock = false;
        return done;
      }),
    ],
    [
      "RST",
      form([], () => {
        if (machine.anyDriving) return { error: 313 };
        for (const axis of machine.present) axis.resetSettings();
        machine.outputs = 0;
        resetOthers();
        return done;
      }),
    ],
    ["RIN", form([], () => ({ data: [machine.inputs] }))],
    ["ROT", form([], () => ({ data: [machine.outputs] }))],
    [
      "WOT",
      form([ioBits], ([bits = 0]) => {
        machine.outputs = bits;
        return done;
      }),
    ],
    // Which values in which order is our assumption; that they are refused while an axis moves is documented.
    ["RIP", textForm([0], () => (machine.anyDriving ? { error: 901 } : { data: network }))],
    [
      "WIP",
      textForm([4], (values) => {
        if (machine.anyDriving) return { error: 901 };
        const [role = "", address = "", mask = "", port = ""] = values;
        const good = [/^[012]$/.test(role), dottedQuad(address), dottedQuad(mask), /^\d{1,5}$/.test(port)];
        const bad = good.indexOf(false);
        if (bad >= 0) return { error: 101 + bad };
        network = [...values];
        return done;
      }),
    ],
  ]);
}
