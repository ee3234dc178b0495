/** What the driver says on the wire, byte by byte: connecting, homing, moving, stopping, closing. */
import { connect as connectTcp, createServer, type AddressInfo } from "node:net";
import t from "tap";
import { loadAxes } from "../../../src/cell/kohzu/axis-config.js";
import { KohzuController } from "../../../src/cell/kohzu/kohzu-controller.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { KohzuEmulator } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { KohzuTcpServer } from "../../../src/twin/kohzu/kohzu-server.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";
import { PtyPort } from "../../../src/twin/pty-port.js";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

/** Requests in order; looks that repeat while an axis moves count once. */
function told(bytes: string): string[] {
  const requests = bytes.split("\r\n").slice(0, -1);
  const looks = (request: string): boolean => request.replace("\x02", "").startsWith("STR");
  return requests.filter((request, i) => !(looks(request) && request === requests[i - 1]));
}

const axes = (): ReturnType<typeof loadAxes> => loadAxes([{ axis: 1, profile: "kohzu-xa04a-r102" }]);

t.test("ARIES over TCP", async (t) => {
  const emulator = new KohzuEmulator({
    seed: 7,
    speedFactor: 10,
    axes: [{ model: xa04aR102, initialPulses: 56_000, initialSteps: -500 }],
  });
  const server = new KohzuTcpServer(emulator);
  const inner = await server.listen("127.0.0.1", 0);
  // The first connection works, the second only stops.
  const heard: string[] = [];
  const proxy = createServer((socket) => {
    const at = heard.push("") - 1;
    const onward = connectTcp(inner, "127.0.0.1");
    socket.on("data", (bytes: Buffer) => {
      heard[at] = (heard[at] ?? "") + bytes.toString("latin1");
      onward.write(bytes);
    });
    onward.pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => undefined);
    socket.on("close", () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const profile = await loadProfile("kohzu-aries", "stage-controller");
  const driver = new KohzuController({
    name: "stages",
    address: { transport: "tcp", host: "127.0.0.1", port },
    profile,
    axes: await axes(),
  });
  t.teardown(async () => {
    await driver.close();
    proxy.close();
    await server.close();
    emulator.dispose();
  });
  const reading = ["STR1", "ROG1", "RDP1"];
  await driver.connect();
  t.strictSame(told(heard[0] ?? ""), ["IDN", "RAX", "RSY1/12", "RTB1/4", "RTB1/2", ...reading]);
  heard[0] = "";
  await driver.activate();
  await driver.home(1);
  t.strictSame(told(heard[0]), [...reading, ...reading, "RSY1/2", "ORG1/2/1", "STR1", "RDP1", ...reading]);
  heard[0] = "";
  await driver.moveAbsolute(1, 700);
  t.strictSame(told(heard[0]), [...reading, "APS1/4/700/1", "STR1", "RDP1", ...reading]);
  heard[0] = "";
  await driver.moveAbsolute(1, 600, { oneSided: true });
  t.strictSame(
    told(heard[0]),
    [...reading, "APS1/4/580/1", "STR1", "RDP1", "APS1/4/600/1", "STR1", "RDP1", ...reading],
    "past the target and back from the smaller side",
  );
  heard[0] = "";
  await driver.stop();
  t.strictSame(heard, ["STP0/1\r\n", "STP0/1\r\n"], "on both connections");
});

t.test("SC series on a serial line", async (t) => {
  const emulator = new KohzuEmulator({
    seed: 7,
    speedFactor: 10,
    dialect: "sc",
    axes: [{ model: xa04aR102, initialSteps: -500 }],
  });
  const folder = await mkdtemp(path.join(os.tmpdir(), "sc-"));
  const port = new PtyPort({ path: path.join(folder, "port") });
  const client = emulator.attach("serial", (bytes) => port.write(bytes));
  let heard = "";
  port.onData = (bytes) => {
    heard += Buffer.from(bytes).toString("latin1");
    client.receive(bytes);
  };
  await port.open();
  const driver = new KohzuController({
    name: "stages",
    address: { transport: "serial", path: path.join(folder, "port"), baudRate: 38_400 },
    profile: await loadProfile("kohzu-sc-410", "stage-controller"),
    axes: await axes(),
  });
  t.teardown(async () => {
    await driver.close();
    await port.close();
    emulator.dispose();
    await rm(folder, { recursive: true });
  });
  const reading = ["\x02STR1/1", "\x02RDP1/0"];
  // Table 4 as delivered: 500 to 5000 pps in 0.32 s; table 2: 3000 pps in 0.24 s.
  const moving = ["\x02ASI1/500/5000/32/32/0/0/0/0/0/0/0/0/0", "\x02RMS1"];
  const searching = ["\x02ASI1/500/3000/24/24/0/0/0/0/0/0/0/0/0", "\x02RMS1"];
  await driver.connect();
  t.strictSame(told(heard), ["\x02IDN", "\x02IDN", ...moving, ...reading], "synchronised, then identified");
  heard = "";
  await driver.activate();
  await driver.home(1);
  t.strictSame(told(heard), [
    ...reading,
    ...reading,
    ...searching,
    "\x02ORG1/2/0/0/3/1",
    "\x02STR1/1",
    "\x02RDP1/0",
    ...reading,
  ]);
  heard = "";
  await driver.moveAbsolute(1, 700);
  t.strictSame(told(heard), [
    ...reading,
    ...moving,
    "\x02APS1/2/0/0/700/0/0/1",
    "\x02STR1/1",
    "\x02RDP1/0",
    ...reading,
  ]);
  heard = "";
  await driver.stop();
  t.strictSame(told(heard), ["\x02STP1/1"]);
});
