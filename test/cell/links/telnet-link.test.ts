/** The line behind a Telnet login, against a server written by hand from RFC 854. */
import { createServer, type AddressInfo, type Socket } from "node:net";
import t from "tap";
import { TelnetFilter, TelnetLink } from "../../../src/cell/links/telnet-link.js";

t.test("negotiation is taken out and every option refused, at every split point", async (t) => {
  // IAC WILL ECHO, "a", IAC DO NAWS, IAC SB TTYPE SEND IAC SE, "b", a doubled IAC, IAC NOP, "c".
  const stream = Buffer.from(
    "fffb01" + "61" + "fffd1f" + "fffa1801fff0" + "62" + "ffff" + "fff1" + "63",
    "hex",
  );
  for (let split = 0; split <= stream.length; split++) {
    const filter = new TelnetFilter();
    const parts = [filter.push(stream.subarray(0, split)), filter.push(stream.subarray(split))];
    t.equal(Buffer.concat(parts.map(({ data }) => data)).toString("hex"), "6162ff63");
    // IAC DONT ECHO, IAC WONT NAWS.
    t.equal(Buffer.concat(parts.map(({ answer }) => answer)).toString("hex"), "fffe01" + "fffc1f");
  }
});

/** Asks for a password with this prompt; nothing is asked when it is empty. */
async function server(
  t: Tap,
  prompt: string,
  accepts: string,
): Promise<{ readonly port: number; readonly heard: string[] }> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const listening = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.write(Buffer.from([255, 251, 1]));
    socket.write(prompt);
    socket.on("data", (bytes) => {
      const text = bytes.toString("latin1").replace(/^(\xff..)+/s, "");
      if (text === "") return;
      heard.push(text);
      if (heard.length > 1) socket.write("C\tIDN\tARIES\r\n");
      else socket.write(text === `${accepts}\r\n` ? "\r\nwelcome\r\n" : `\r\n${prompt}`);
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return { port: (listening.address() as AddressInfo).port, heard };
}

type Tap = { teardown(end: () => void): unknown };

t.test("logs in, and hands over only what comes after", async (t) => {
  const { port, heard } = await server(t, "ARIES\r\nPassword: ", "KOSMOS");
  const link = new TelnetLink({ host: "127.0.0.1", port, password: "KOSMOS" });
  let said = "";
  const replied = new Promise<void>((resolve) => {
    link.onData = (bytes) => {
      said += Buffer.from(bytes).toString("latin1");
      if (said.endsWith("\n")) resolve();
    };
  });
  await link.open();
  t.type(link.descriptor, "number", "who guards the device shares the connection");
  link.write(Buffer.from("IDN\r\n"));
  await replied;
  t.equal(said, "C\tIDN\tARIES\r\n");
  t.strictSame(heard, ["KOSMOS\r\n", "IDN\r\n"]);
  await link.close();
  t.equal(link.descriptor, undefined);
});

t.test("a wrong password, no prompt, a cancelled login: each by its name", async (t) => {
  const refusing = await server(t, "Password:", "another");
  const wrong = new TelnetLink({ host: "127.0.0.1", port: refusing.port, password: "KOSMOS" });
  await t.rejects(wrong.open(), { code: "LINK_CONNECT", message: /password is refused/ });
  t.equal(wrong.isOpen, false);
  const silent = await server(t, "", "KOSMOS");
  const none = new TelnetLink({ host: "127.0.0.1", port: silent.port, password: "KOSMOS" }, 0.2);
  await t.rejects(none.open(), { code: "LINK_CONNECT", message: /no prompt/ });
  const cancelled = new TelnetLink({ host: "127.0.0.1", port: silent.port, password: "KOSMOS" });
  const abort = new AbortController();
  const opening = cancelled.open(abort.signal);
  setTimeout(() => abort.abort(), 50);
  await t.rejects(opening, { code: "LINK_ABORTED" });
});
