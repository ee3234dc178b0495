/** Odd but harmless ways of RTDE to answer and to send: the driver must not mind. */
import t from "tap";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { urFaults } from "../../../src/twin/ur/ur-faults.js";
import { rig, soon } from "../../cell/ur/rig.js";

for (const [fault, value] of [
  ["arm-rtde-bytewise", "on"],
  ["arm-rtde-bundle", 8],
  ["arm-rtde-message-first", "on"],
  ["arm-rtde-data-first", "on"],
  ["arm-rtde-start-twice", "on"],
  ["arm-rtde-start-late", 0.5],
] as const) {
  t.test(`${fault}: connects, moves, and no sample is wrong`, async (t) => {
    const plain = await rig();
    t.teardown(() => plain.close());
    const faults = new FaultSwitches(urFaults(plain.controller));
    faults.set(fault, value);
    await plain.robot.connect(soon());
    let last = -Infinity;
    let backwards = 0;
    plain.robot.on("sample", (sample) => {
      if (sample.timestampS < last) backwards++;
      last = sample.timestampS;
    });
    await plain.robot.activate(soon());
    t.equal(plain.robot.state().lifecycle, "active");
    const goal = plain.controller.jointPositions(Infinity).map((q, i) => q + (i === 0 ? 0.05 : 0));
    const report = await plain.robot.moveJoints(goal, { speedRadS: 0.5, accelerationRadS2: 1.5 }, soon());
    t.ok(report.jointErrorRad < 1e-4);
    t.equal(backwards, 0);
  });
}
