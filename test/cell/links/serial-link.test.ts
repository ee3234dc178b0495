/** A serial port as a byte link, over a pseudo-terminal: more than its queue takes, a hang-up, a second owner. */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import type { CellError } from "../../../src/base/errors.js";
import { SerialLink } from "../../../src/cell/links/serial-link.js";
import { PtyPort } from "../../../src/twin/pty-port.js";
import { waitFor } from "../../faults/wait.js";

const folder = mkdtempSync(path.join(os.tmpdir(), "surgiclaw-serial-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

interface Line {
  readonly link: SerialLink;
  readonly far: PtyPort;
  readonly path: string;
  /** What reached the far end, and what reached the link. */
  readonly sent: Buffer[];
  readonly heard: Buffer[];
  readonly closed: CellError[];
}

async function line(t: Test, name: string): Promise<Line> {
  const where = path.join(folder, name);
  const far = new PtyPort({ path: where });
  await far.open();
  const link = new SerialLink({ path: where, baudRate: 115_200 });
  const found: Line = { link, far, path: where, sent: [], heard: [], closed: [] };
  far.onData = (bytes) => found.sent.push(Buffer.from(bytes));
  link.onData = (bytes) => found.heard.push(Buffer.from(bytes));
  link.onClosed = (reason) => found.closed.push(reason);
  t.teardown(async () => {
    await link.close();
    await far.close();
  });
  await link.open();
  return found;
}

const bytesOf = (parts: readonly Buffer[]): number => parts.reduce((sum, part) => sum + part.length, 0);

t.test("more than the kernel's queue takes at once leaves whole and in order", async (t) => {
  const { link, sent } = await line(t, "long");
  const long = Buffer.from(Array.from({ length: 60_000 }, (_, k) => (k * 7 + (k >> 8)) & 0xff));
  link.write(long.subarray(0, 50_000));
  link.write(long.subarray(50_000));
  await waitFor(() => bytesOf(sent) >= long.length);
  t.ok(Buffer.concat(sent).equals(long));
});

t.test("what comes in pieces is handed on in order, byte for byte", async (t) => {
  const { far, heard } = await line(t, "pieces");
  const words = Array.from({ length: 200 }, (_, k) => Buffer.from(`line ${k}\r\n`));
  for (const word of words) far.write(word);
  const whole = Buffer.concat(words);
  await waitFor(() => bytesOf(heard) >= whole.length);
  t.ok(Buffer.concat(heard).equals(whole));
});

t.test("a hang-up is told once, without anything written; then the port is no longer open", async (t) => {
  const { link, far, closed } = await line(t, "hang-up");
  await far.close();
  await waitFor(() => closed.length > 0);
  t.notOk(link.isOpen);
  t.throws(() => link.write(Buffer.from("x")), { code: "LINK_CLOSED" });
  await link.close();
  t.match(closed, [{ code: "LINK_CLOSED" }]);
});

t.test("a port has one owner; given up, it may be opened by the next", async (t) => {
  const first = await line(t, "owned");
  const second = new SerialLink({ path: first.path, baudRate: 115_200 });
  await t.rejects(second.open(), { code: "LINK_BUSY" });
  await first.link.close();
  await second.open();
  second.write(Buffer.from("here"));
  await waitFor(() => bytesOf(first.sent) === 4);
  t.equal(Buffer.concat(first.sent).toString(), "here");
  await second.close();
  t.equal(second.descriptor, undefined);
});
