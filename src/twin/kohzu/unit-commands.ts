/** The commands that concern the ARIES as a whole: identity, device map, locks, general I/O, network, reset. */
import { done, form, textForm, type CommandTable, type Form, type TextForm } from "./command-form.js";
import { olderThan, type Firmware } from "./firmware.js";
import type { NetworkSettings } from "./network-role.js";
import type { StageMachine } from "./stage-machine.js";

/** General inputs and outputs; how many there are is our assumption. */
const ioBits: readonly [number, number] = [0, 255];

const dottedQuad = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) && text.split(".").every((part) => Number(part) <= 255);

export function unitCommands(
  machine: StageMachine,
  firmware: Firmware,
  network: NetworkSettings,
  resetOthers: () => void,
): CommandTable {
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
    // Role (0 host, 1 client, 2 Telnet), address, mask, port: which values in which order is our assumption; that they are refused while an axis moves is documented.
    ["RIP", textForm([0], () => (machine.anyDriving ? { error: 901 } : { data: network.values }))],
    [
      "WIP",
      textForm([4], (values) => {
        if (machine.anyDriving) return { error: 901 };
        const [role = "", address = "", mask = "", port = ""] = values;
        const good = [network.knows(role), dottedQuad(address), dottedQuad(mask), /^\d{1,5}$/.test(port)];
        const bad = good.indexOf(false);
        if (bad >= 0) return { error: 101 + bad };
        network.write(values);
        return done;
      }),
    ],
  ]);
}
