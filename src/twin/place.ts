/** Where one twin sits: its addresses, ports and files, so that several fit on one machine. */
import path from "node:path";
import { z } from "zod";

const port = z.number().int().min(0).max(65535);

export const placeSchema = z.strictObject({
  /** Folder of its files: scene, state, sockets, needle's terminal, logs. */
  folder: z.string().min(1),
  host: z.string().default("127.0.0.1"),
  ur: z
    .strictObject({
      dashboard: port.default(29999),
      primary: port.default(30001),
      secondary: port.default(30002),
      realtime: port.default(30003),
      rtde: port.default(30004),
      modbus: port.default(5020),
    })
    .prefault({}),
  ariesPort: port.default(12321),
  /** What the needle drive speaks. */
  needleDialect: z.enum(["zaber-ascii", "modbus-rtu"]).default("zaber-ascii"),
  cameras: z
    .array(z.strictObject({ serial: z.string(), address: z.string() }))
    .length(2)
    .default([
      { serial: "MIC1", address: "127.0.0.2" },
      { serial: "MIC2", address: "127.0.0.3" },
    ]),
});

export type Place = z.output<typeof placeSchema>;

export const placeFiles = (
  place: Place,
): { scene: string; state: string; needle: string; control: string; truth: string; cameraLog: string } => {
  const at = (name: string): string => path.resolve(place.folder, name);
  return {
    scene: at("scene.json"),
    state: at("state.bin"),
    needle: at("needle"),
    control: `ipc://${at("control.sock")}`,
    truth: `ipc://${at("truth.sock")}`,
    cameraLog: at("cameras.log"),
  };
};
