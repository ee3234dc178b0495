/** Every shipped controller profile: its packets, its fields, and an arm that moves. */
import { connect } from "node:net";
import t from "tap";
import { RtdeClient, rtdeDefaults } from "../../../src/cell/ur/rtde-client.js";
import { soon, startQ } from "../../cell/ur/rig.js";
import { activeArm } from "./active-arm.js";

/** Written by hand from the reference: size of a real-time packet, RTDE version, a field that is and one that is not there. */
const profiles = [
  ["ur5-cb3-3.3", 1060, 1, "actual_q", "output_int_register_0"],
  ["ur5-cb3-3.4", 1060, 2, "output_int_register_0", "output_int_register_24"],
  ["ur5-cb3-3.9", 1108, 2, "output_int_register_24", "safety_status"],
  ["ur5-cb3-3.15", 1220, 2, "payload_inertia", "ft_raw_wrench"],
  ["ur5e-5.11", 1220, 2, "ft_raw_wrench", "nonsense"],
] as const;

for (const [profile, size, version, present, absent] of profiles) {
  t.test(profile, async (t) => {
    const { controller, robot } = await activeArm(t, { profile });
    const socket = connect(controller.ports.realtime, "127.0.0.1");
    t.teardown(() => socket.destroy());
    const first = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    t.equal(first.readUInt32BE(0), size, "size of a real-time packet");
    const client = new RtdeClient({
      ...rtdeDefaults,
      host: "127.0.0.1",
      port: controller.ports.rtde,
      frequencyHz: 10,
      required: ["timestamp", present],
      optional: [absent],
    });
    t.teardown(() => client.close());
    await client.connect(10, soon());
    t.equal(client.protocolVersion, version);
    t.same(client.missing, [absent]);
    const report = await robot.moveJoints(
      startQ.map((q, i) => q + (i === 5 ? 0.1 : 0)),
      { speedRadS: 0.5, accelerationRadS2: 1.5 },
      soon(),
    );
    t.ok(report.jointErrorRad < 1e-4, "the arm moves");
  });
}
