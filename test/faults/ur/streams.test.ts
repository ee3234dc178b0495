/** Streams as of other software versions, limits of recipes, and how RTDE's bytes are cut. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import t, { type Test } from "tap";
import { encodeFrame, RtdeFramer, rtdePackage, type RtdeFrame } from "../../../src/cell/ur/codec/rtde.js";
import { decodeRealtime, RealtimeFramer } from "../../../src/cell/ur/codec/realtime.js";
import { RtdeClient, rtdeDefaults } from "../../../src/cell/ur/rtde-client.js";
import { rig, soon, startQ } from "../../cell/ur/rig.js";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { urFaults } from "../../../src/twin/ur/ur-faults.js";
import { waitFor } from "../wait.js";
import { activeArm, connectedArm, recovers, slow, stopsMotion } from "./active-arm.js";

/** Fields of which every firmware has plenty. */
const many = (count: number): string[] => new Array<string>(count).fill("actual_q");

/** A connection by hand, without the driver. */
async function raw(
  t: Test,
  port: number,
): Promise<{ socket: Socket; next: (type: number) => Promise<RtdeFrame> }> {
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  const framer = new RtdeFramer();
  const frames: RtdeFrame[] = [];
  socket.on("data", (chunk) => frames.push(...framer.push(chunk)));
  await once(socket, "connect");
  return {
    socket,
    async next(type) {
      let found: RtdeFrame | undefined;
      await waitFor(() => {
        const at = frames.findIndex((frame) => frame.type === type);
        if (at >= 0) found = frames.splice(0, at + 1).at(-1);
        return found !== undefined;
      });
      return found ?? { type, payload: Buffer.alloc(0) };
    },
  };
}

t.test(
  "arm-rtde-recipe-bytes: a list beyond the limit is cut and streams nothing; the driver's own fits",
  async (t) => {
    const plain = await rig();
    t.teardown(() => plain.close());
    const faults = new FaultSwitches(urFaults(plain.controller));
    faults.set("arm-rtde-recipe-bytes", 2048);
    await plain.robot.connect(soon());
    await plain.robot.activate(soon());
    const { socket, next } = await raw(t, plain.controller.ports.rtde);
    // 240 names of 8 letters and 239 commas: 2159 bytes, in version 1.
    socket.write(encodeFrame(rtdePackage.SETUP_OUTPUTS, Buffer.from(many(240).join())));
    const types = (await next(rtdePackage.SETUP_OUTPUTS)).payload.toString().split(",");
    // 2048 bytes hold 227 whole names and five letters of the next.
    t.equal(types.length, 228);
    t.equal(types.at(-1), "NOT_FOUND");
    socket.write(encodeFrame(rtdePackage.START));
    t.same([...(await next(rtdePackage.START)).payload], [0], "not started");
    faults.set("arm-rtde-recipe-bytes", 0);
    socket.write(encodeFrame(rtdePackage.SETUP_OUTPUTS, Buffer.from(many(240).join())));
    t.equal(
      (await next(rtdePackage.SETUP_OUTPUTS)).payload.toString().split(",").length,
      240,
      "newer software takes it",
    );
  },
);

t.test(
  "arm-rtde-recipe-fields: fields beyond the limit are unknown; optional ones are left out",
  async (t) => {
    const { controller, faults } = await connectedArm(t);
    faults.set("arm-rtde-recipe-fields", 96);
    const { rtde: port } = controller.ports;
    const client = new RtdeClient({
      ...rtdeDefaults,
      ...{ host: "127.0.0.1", port, required: ["timestamp", ...many(95)], optional: ["safety_mode"] },
    });
    t.teardown(() => client.close());
    await client.connect(10, soon());
    t.same(client.missing, ["safety_mode"], "the 97th");
  },
);

t.test("arm-rtde-segments: frames longer than a packet of the network arrive in pieces", async (t) => {
  const { controller, faults } = await connectedArm(t);
  faults.set("arm-rtde-segments", 1460);
  const client = new RtdeClient({
    ...rtdeDefaults,
    ...{ host: "127.0.0.1", port: controller.ports.rtde, required: ["timestamp", ...many(60)] },
  });
  t.teardown(() => client.close());
  let wrong = 0;
  client.on("sample", ({ values }) => {
    const q = values.get("actual_q");
    if (!Array.isArray(q) || q[1] !== startQ[1]) wrong++;
  });
  const first = await client.connect(10, soon());
  await client.until(
    (s) => (s && s.timestampS > first.timestampS + 0.5 ? s : undefined),
    10,
    "half a second",
  );
  t.equal(wrong, 0, "no value of 2.9 kB is wrong");
});

t.test(
  "arm-rtde-slow-reader: a client that does not read is closed after the time that was set",
  async (t) => {
    const { controller, faults } = await connectedArm(t);
    faults.set("arm-rtde-slow-reader", 0.2);
    const { socket } = await raw(t, controller.ports.rtde);
    socket.removeAllListeners("data").on("error", () => undefined);
    socket.write(encodeFrame(rtdePackage.SETUP_OUTPUTS, Buffer.from(many(600).join())));
    socket.write(encodeFrame(rtdePackage.START));
    socket.pause();
    await waitFor(() => controller.rtdeClients === 1, 120);
    t.pass("only the driver is left");
  },
);

t.test("arm-rtde-restart in mid-motion: RTDE alone begins anew; a whole handshake follows", async (t) => {
  const arm = await activeArm(t);
  await stopsMotion(t, arm, () => arm.faults.set("arm-rtde-restart"), { code: "LINK_CLOSED" });
  await recovers(t, arm);
});

t.test("arm-rtde-message: a message in the middle of a motion changes nothing", async (t) => {
  const { robot, faults } = await activeArm(t);
  const motion = robot.moveJoints(
    startQ.map((q, i) => q + (i === 0 ? 0.2 : 0)),
    slow,
    soon(),
  );
  await waitFor(() => robot.state().moving);
  faults.set("arm-rtde-message", "mind the step");
  t.ok((await motion).jointErrorRad < 1e-4);
  t.equal(robot.state().lifecycle, "active");
});

t.test("arm-stream-newer: longer and unknown sub-packages are skipped by their length", async (t) => {
  const plain = await rig();
  t.teardown(() => plain.close());
  new FaultSwitches(urFaults(plain.controller)).set("arm-stream-newer", "on");
  await plain.robot.connect(soon());
  await plain.robot.activate(soon());
  const report = await plain.robot.moveJoints(
    startQ.map((q, i) => q + (i === 5 ? 0.1 : 0)),
    slow,
    soon(),
  );
  t.ok(report.jointErrorRad < 1e-4);
});

t.test("arm-realtime-bytes: a packet of unknown length is read as far as it is known", async (t) => {
  const { controller, faults } = await connectedArm(t);
  for (const bytes of [1044, 1060, 1500]) {
    faults.set("arm-realtime-bytes", bytes);
    const socket = connect(controller.ports.realtime, "127.0.0.1");
    t.teardown(() => socket.destroy());
    const framer = new RealtimeFramer();
    const packets: Buffer[] = [];
    socket.on("data", (chunk) => packets.push(...framer.push(chunk)));
    await waitFor(() => packets.length > 2);
    t.equal(packets[0]?.length, bytes);
    t.same(decodeRealtime(packets[0] ?? Buffer.alloc(0)).q, startQ);
    socket.destroy();
  }
  t.throws(() => faults.set("arm-realtime-bytes", 100), { code: "COMMAND_INVALID" });
});
