/** The roles of an ARIES on its network, spoken to with plain sockets. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import t from "tap";
import { KohzuEmulator, type KohzuOptions } from "../../../src/twin/kohzu/kohzu-emulator.js";
import { KohzuTcpServer } from "../../../src/twin/kohzu/kohzu-server.js";
import { xa04aR102 } from "../../../src/twin/kohzu/stage-models.js";

type Tap = { teardown(end: () => unknown): unknown };

function controller(t: Tap, options: Partial<KohzuOptions>): [KohzuEmulator, KohzuTcpServer] {
  const emulator = new KohzuEmulator({ seed: 1, axes: [{ model: xa04aR102 }], ...options });
  const server = new KohzuTcpServer(emulator);
  t.teardown(async () => {
    await server.close();
    emulator.dispose();
  });
  return [emulator, server];
}

/** Until the other side has said something that ends so. */
function hears(socket: Socket, end: string): Promise<string> {
  return new Promise((resolve) => {
    let said = "";
    const take = (bytes: Buffer): void => {
      said += bytes.toString("latin1");
      if (!said.endsWith(end)) return;
      socket.off("data", take);
      resolve(said);
    };
    socket.on("data", take);
  });
}

t.test("Telnet: options offered, a password asked for, lines only afterwards", async (t) => {
  const [, server] = controller(t, { role: "telnet" });
  const socket = connect(await server.listen("127.0.0.1", 0), "127.0.0.1");
  t.teardown(() => socket.destroy());
  // IAC WILL ECHO, IAC WILL SUPPRESS-GO-AHEAD.
  t.equal(await hears(socket, "Password: "), "\xff\xfb\x01\xff\xfb\x03Password: ");
  socket.write("IDN\r\n");
  t.notMatch(await hears(socket, "Password: "), /ARIES/, "a command is no password");
  // With the answers that a client gives to what was offered.
  socket.write(Buffer.concat([Buffer.from("fffe01fffe03", "hex"), Buffer.from("KOSMOS\r\nIDN\r\n")]));
  t.equal(await hears(socket, "4\r\n"), "\r\nC\tIDN\tARIES\t1\t4\t4\r\n");
});

t.test("Telnet: the third wrong password ends the connection", async (t) => {
  const [, server] = controller(t, { role: "telnet" });
  const socket = connect(await server.listen("127.0.0.1", 0), "127.0.0.1");
  socket.resume();
  const closed = once(socket, "close");
  socket.write("a\r\nb\r\nc\r\n");
  await closed;
});

t.test("client: takes no call, dials, and dials again", async (t) => {
  const [, server] = controller(t, { role: "client" });
  const caller = connect(await server.listen("127.0.0.1", 0), "127.0.0.1");
  caller.on("error", () => undefined);
  await once(caller, "close");
  const host = createServer();
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
  t.teardown(() => host.close());
  server.dial("127.0.0.1", (host.address() as AddressInfo).port);
  for (const _ of [1, 2]) {
    const [socket] = (await once(host, "connection")) as [Socket];
    socket.write("IDN\r\n");
    t.equal(await hears(socket, "\r\n"), "C\tIDN\tARIES\t1\t4\t4\r\n");
    socket.destroy();
  }
});

t.test(
  "WIP sets the role, a power cycle brings it into force, an older firmware has no Telnet",
  async (t) => {
    const [emulator, server] = controller(t, {});
    const socket = connect(await server.listen("127.0.0.1", 0), "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.write("WIP2/192.168.1.120/255.0.0.0/23\r\n");
    t.equal(await hears(socket, "\r\n"), "C\tWIP\r\n");
    socket.write("RIP\r\n");
    t.equal(await hears(socket, "\r\n"), "C\tRIP\t2\t192.168.1.120\t255.0.0.0\t23\r\n");
    t.equal(emulator.role, "host");
    emulator.powerCycle();
    t.equal(emulator.role, "telnet");
    const [, older] = controller(t, { firmware: [1, 3, 9] });
    const second = connect(await older.listen("127.0.0.1", 0), "127.0.0.1");
    t.teardown(() => second.destroy());
    second.write("WIP2/192.168.1.120/255.0.0.0/23\r\n");
    t.equal(await hears(second, "\r\n"), "E\tWIP\t101\r\n");
  },
);
