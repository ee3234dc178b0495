import t from "tap";
import { CrossCheck } from "../../../src/cell/ur/cross-check.js";
import type { ModbusState } from "../../../src/cell/ur/modbus-client.js";
import type { UrSample } from "../../../src/cell/ur/ur-sample.js";
import { joints } from "../../../src/cell/ur/kinematics.js";

const q = [0.1, -1.6, 1.9, -1.9, -1.5, 7];
const sample = (changes: Partial<UrSample> = {}): UrSample => ({
  timestampS: 1,
  measuredS: 1,
  q: joints(q),
  qd: [0, 0, 0, 0, 0, 0],
  robotMode: 7,
  safetyMode: 1,
  runtimeState: 1,
  emergencyStopped: false,
  protectiveStopped: false,
  unsafe: false,
  running: true,
  speedFraction: 1,
  ...changes,
});
const told = (changes: Partial<ModbusState> = {}): ModbusState => ({
  askedS: 1,
  answeredS: 1,
  robotMode: 7,
  powerOn: true,
  protectiveStopped: false,
  emergencyStopped: false,
  q,
  ...changes,
});
const limits = { angleRad: 0.003, readsInARow: 3 };

/** What the check says of the same three readings in a row. */
function verdict(before: UrSample, modbus: ModbusState, after = before): string | undefined {
  const check = new CrossCheck(limits);
  t.equal(check.compare(before, modbus, after), undefined, "never at once");
  check.compare(before, modbus, after);
  return check.compare(before, modbus, after);
}

t.test("what agrees", (t) => {
  t.equal(verdict(sample(), told()), undefined);
  t.equal(verdict(sample(), told({ q: q.map((value) => value + 0.0009) })), undefined, "rounding to mrad");
  t.equal(verdict(sample(), told({ q: q.map((value) => value + 2 * Math.PI) })), undefined, "a turn off");
  t.equal(
    verdict(sample(), told({ q: [0.5, ...q.slice(1)] }), sample({ qd: [0.5, 0, 0, 0, 0, 0] })),
    undefined,
    "moving",
  );
  t.equal(
    verdict(sample(), told({ protectiveStopped: true }), sample({ protectiveStopped: true })),
    undefined,
  );
  t.equal(verdict(sample({ robotMode: 5, running: false }), told()), "robot mode: Modbus says 7, RTDE 5");
  t.end();
});

t.test("what differs, and for how long it must", (t) => {
  t.match(verdict(sample(), told({ q: [0.105, ...q.slice(1)] })), /^joint 0: Modbus says 0\.105 rad/);
  t.match(verdict(sample(), told({ emergencyStopped: true })), /^emergency stop/);
  t.match(verdict(sample(), told({ powerOn: false })), /^power/);
  t.match(verdict(sample(), told({ q: [NaN, ...q.slice(1)] })), /^joint 0/, "no number is no agreement");
  const check = new CrossCheck(limits);
  const wrong = told({ powerOn: false });
  check.compare(sample(), wrong, sample());
  check.compare(sample(), wrong, sample());
  check.compare(sample(), told(), sample());
  check.compare(sample(), wrong, sample());
  t.equal(check.compare(sample(), wrong, sample()), undefined, "one agreement begins the count anew");
  t.ok(check.compare(sample(), wrong, sample()));
  t.end();
});
