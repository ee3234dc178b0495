import { connect, createServer } from "node:net";
import t from "tap";
import { encodeFrame, RecipeCodec, RtdeFramer, decodeMessage } from "../../../src/cell/ur/codec/rtde.js";
import { RtdeClient, rtdeDefaults } from "../../../src/cell/ur/rtde-client.js";
import { freePorts, UrController } from "../../../src/twin/ur/ur-controller.js";
import { soon } from "./rig.js";

async function controllerOn(): Promise<UrController> {
  const controller = new UrController({ ports: freePorts });
  await controller.start();
  return controller;
}

const client = (
  port: number,
  options: Partial<ConstructorParameters<typeof RtdeClient>[0]> = {},
): RtdeClient =>
  new RtdeClient({
    ...rtdeDefaults,
    host: "127.0.0.1",
    port,
    required: ["timestamp", "actual_q"],
    ...options,
  });

t.test("frames are found at every split point; a wrong size or type is an error", (t) => {
  // Written by hand: size 5, 'V', version 2; size 4, 'S', accepted.
  const stream = Buffer.from("00055600020004" + "5301", "hex");
  for (let cut = 0; cut <= stream.length; cut++) {
    const framer = new RtdeFramer();
    const frames = [...framer.push(stream.subarray(0, cut)), ...framer.push(stream.subarray(cut))];
    t.same(
      frames.map(({ type, payload }) => [type, payload.toString("hex")]),
      [
        [86, "0002"],
        [83, "01"],
      ],
    );
  }
  t.throws(() => new RtdeFramer().push(Buffer.from("000256", "hex")), { code: "LINK_PROTOCOL" });
  t.throws(() => new RtdeFramer().push(Buffer.from("000500", "hex")), { code: "LINK_PROTOCOL" });
  t.equal(encodeFrame(86, Buffer.from([0, 2])).toString("hex"), "0005560002");
  t.end();
});

t.test("values have the widths of the guide, big-endian", (t) => {
  const codec = new RecipeCodec([
    "BOOL",
    "UINT8",
    "UINT32",
    "UINT64",
    "INT32",
    "DOUBLE",
    "VECTOR3D",
    "VECTOR6INT32",
  ]);
  t.equal(codec.byteLength, 1 + 1 + 4 + 8 + 4 + 8 + 24 + 24);
  const bytes = codec.encode([true, 7, 0xfffffffe, 5n, -2, 1.5, [0, 1, 2], [1, -1, 2, -2, 3, -3]]);
  t.equal(
    bytes.subarray(0, 26).toString("hex"),
    "0107" + "fffffffe" + "0000000000000005" + "fffffffe" + "3ff8000000000000",
  );
  t.same(codec.decode(bytes)[7], [1, -1, 2, -2, 3, -3]);
  t.throws(() => codec.decode(bytes.subarray(1)), { code: "LINK_PROTOCOL" });
  t.end();
});

t.test("text messages have another shape in each version", (t) => {
  t.same(decodeMessage(Buffer.from("\x01oops", "latin1"), 1), { level: 1, text: "oops", source: "" });
  t.same(decodeMessage(Buffer.from("\x04oops\x03abc\x02", "latin1"), 2), {
    level: 2,
    text: "oops",
    source: "abc",
  });
  t.end();
});

t.test(
  "a link that delivers byte by byte, optional fields that the firmware lacks, and inputs in use",
  async (t) => {
    const controller = await controllerOn();
    t.teardown(() => controller.stop());
    const proxy = createServer((near) => {
      const far = connect(controller.ports.rtde, "127.0.0.1");
      near.on("error", () => far.destroy()).on("close", () => far.destroy());
      far.on("error", () => near.destroy()).on("close", () => near.destroy());
      near.setNoDelay(true);
      far.setNoDelay(true);
      const dribble = (to: typeof near) => (chunk: Buffer) => {
        for (const byte of chunk) to.write(Buffer.of(byte));
      };
      near.on("data", dribble(far));
      far.on("data", dribble(near));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    t.teardown(() => proxy.close());
    const address = proxy.address();
    const port = typeof address === "object" && address ? address.port : 0;

    const one = client(port, { frequencyHz: 25, optional: ["ft_raw_wrench", "robot_mode"] });
    t.teardown(() => one.close());
    const sample = await one.connect(10, soon());
    t.same(sample.values.get("actual_q"), [0, -1.6, 1.9, -1.9, -1.57, 0]);
    t.same(one.missing, ["ft_raw_wrench"]);
    t.ok(sample.values.has("robot_mode"));
    t.equal(one.protocolVersion, 2);

    const send = await one.claimInputs(["input_int_register_24", "input_double_register_24"]);
    t.equal(send([42, 1.25]), true);
    const two = client(controller.ports.rtde, {
      required: ["timestamp", "input_int_register_24", "input_double_register_24"],
    });
    t.teardown(() => two.close());
    await two.connect(10, soon());
    await two.until((s) => (s?.values.get("input_int_register_24") === 42 ? s : undefined), 5, "echo");
    await t.rejects(two.claimInputs(["input_int_register_24"]), { code: "LINK_BUSY" });
    await t.rejects(two.claimInputs(["no_such_input"]), { code: "DEVICE_REFUSED" });
  },
);

t.test("a field that is required and unknown is named", async (t) => {
  const controller = await controllerOn();
  t.teardown(() => controller.stop());
  const wrong = client(controller.ports.rtde, { required: ["timestamp", "warp_factor"] });
  t.teardown(() => wrong.close());
  await t.rejects(wrong.connect(1.5, soon()), { code: "DEVICE_REFUSED", detail: /warp_factor/ });
});

t.test("nobody there: the error says where", async (t) => {
  const nobody = client(1);
  t.teardown(() => nobody.close());
  await t.rejects(nobody.connect(0.5, soon()), { code: "LINK_CONNECT", detail: /127\.0\.0\.1:1/ });
});
