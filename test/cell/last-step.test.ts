/**
 * NaN, infinities, units mixed up and values that wrap around: each link refuses them at its last steps before the wire, the
 * limits of the axis and the encoder of the message, whichever a defect upstream reaches first.
 */
import t, { type Test } from "tap";
import { checkTarget, toPulses } from "../../src/cell/kohzu/axis-config.js";
import { encodeRequest } from "../../src/cell/kohzu/codec/framing.js";
import { words } from "../../src/cell/needle/modbus-codec.js";
import { NeedleLimits } from "../../src/cell/needle/needle-limits.js";
import { loadProfile } from "../../src/cell/profile.js";
import { encodeReverseCommand, reverseCommand } from "../../src/cell/ur/codec/reverse.js";
import { cellAxes } from "./kohzu/rig.js";

const noNumbers = [NaN, Infinity, -Infinity];
/** A value of 1 in another unit, and what a 32-bit counter would make of it. */
const slips = (value: number): number[] => [value * 1e3, value * 1e6, value + 2 ** 32, value - 2 ** 32];
const refused = (t: Test, what: string, call: () => unknown): void => {
  t.throws(call, { name: "CellError", code: /UNIT_NOT_FINITE|DEVICE_LIMIT|SAFETY_ENVELOPE/ }, what);
};

t.test("stages: targets that are no sound number", async (t) => {
  const [axis] = await cellAxes();
  if (axis === undefined) throw new Error("no axis");
  t.equal(toPulses(axis, 1e-3), 2000, "1 mm at 0.5 µm");
  for (const value of [...noNumbers, ...slips(1e-3)])
    refused(t, `position ${value}`, () => checkTarget(axis, toPulses(axis, value)));
  for (const value of [...noNumbers, 0.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53]) {
    refused(t, `pulses ${value}`, () => checkTarget(axis, value));
    refused(t, `on the wire ${value}`, () => encodeRequest("APS", [1, 0, value, 1], false));
  }
  t.equal(encodeRequest("APS", [1, 0, -2000, 1], false).toString("latin1"), "APS1/0/-2000/1\r\n");
});

t.test("needle: positions and speeds that are no sound number", async (t) => {
  for (const name of ["needle-zaber-ascii", "needle-modbus-rtu"]) {
    const limits = new NeedleLimits("needle", await loadProfile(name, "needle-drive"));
    const motion = { speedMS: 0.05, accelerationMS2: 4 };
    limits.motion(motion);
    for (const value of [...noNumbers, ...slips(1e-3), -1e-6])
      refused(t, `position ${value}`, () => limits.target(value, "target"));
    for (const value of [...noNumbers, ...slips(0.05), 0, -0.05]) {
      refused(t, `speed ${value}`, () => limits.motion({ ...motion, speedMS: value }));
      const stroke = { ...motion, depthPositionM: 1e-3, retractToM: 0, dwellS: 0.1 };
      const up = { retractSpeedMS: value, retractAccelerationMS2: 4 };
      refused(t, `way back at ${value}`, () => limits.stroke({ ...stroke, ...up }));
    }
    for (const value of [...noNumbers, -4, 4e6])
      refused(t, `acceleration ${value}`, () => limits.motion({ ...motion, accelerationMS2: value }));
  }
  for (const value of [...noNumbers, 0.5, 2 ** 32, -(2 ** 31) - 1])
    refused(t, `registers ${value}`, () => words(value));
  t.same(words(-2), [0xffff, 0xfffe]);
});

t.test("arm: postures, poses and speeds that are no sound number", async (t) => {
  const command = {
    ...{ timeoutMs: 250, sequence: 7, kind: reverseCommand.MOVE_JOINTS, blend: 0 },
    ...{ values: [1, -1.5, 1.5, -1.6, -1.5, 0], speed: 1, acceleration: 2 },
  };
  t.equal(encodeReverseCommand(command).readInt32BE(12), 1e8);
  for (const value of [...noNumbers, 22, -22, 1e3])
    refused(t, `value ${value}`, () => encodeReverseCommand({ ...command, values: [0, value, 0, 0, 0, 0] }));
  for (const value of [...noNumbers, 2200, -2200]) {
    refused(t, `speed ${value}`, () => encodeReverseCommand({ ...command, speed: value }));
    refused(t, `acceleration ${value}`, () => encodeReverseCommand({ ...command, acceleration: value }));
    refused(t, `blend ${value}`, () => encodeReverseCommand({ ...command, blend: value }));
  }
});
