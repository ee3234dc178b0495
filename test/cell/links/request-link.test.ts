/** The request link on a link of its own making, in a language of one-word lines: `x` is answered by `x!`. */
import t from "tap";
import { CellError } from "../../../src/base/errors.js";
import type { ByteLink } from "../../../src/cell/links/byte-link.js";
import { LineAssembler } from "../../../src/cell/kohzu/codec/framing.js";
import { RequestLink, type Request } from "../../../src/cell/links/request-link.js";

class PaperLink implements ByteLink {
  readonly description = "paper";
  readonly descriptor = undefined;
  isOpen = false;
  readonly written: string[] = [];
  /** What the device does as soon as it is written to. */
  device: (text: string) => void = () => undefined;
  onData: (bytes: Uint8Array) => void = () => undefined;
  onClosed: (reason: CellError) => void = () => undefined;
  holdReading(): void {}
  async open(): Promise<void> {
    this.isOpen = true;
  }
  write(bytes: Uint8Array): void {
    if (!this.isOpen) throw new CellError("LINK_CLOSED", "paper is not open");
    const text = Buffer.from(bytes).toString("latin1");
    this.written.push(text.trim());
    this.device(text.trim());
  }
  async close(): Promise<void> {
    this.isOpen = false;
  }
  say(line: string): void {
    this.onData(Buffer.from(`${line}\r\n`, "latin1"));
  }
}

const word = (name: string): Request<string> => ({
  name,
  bytes: Buffer.from(`${name}\r\n`),
  matches: (reply) => reply === `${name}!`,
});

async function made(staleAtOpen = false): Promise<{
  paper: PaperLink;
  link: RequestLink<string>;
  news: string[];
  ask: (name: string, options?: { signal?: AbortSignal; permit?: () => void }) => Promise<string>;
}> {
  const paper = new PaperLink();
  const news: string[] = [];
  const link = new RequestLink<string>(
    paper,
    {
      lines: new LineAssembler(64),
      read(line) {
        if (line.startsWith("news")) {
          news.push(line);
          return "unsolicited";
        }
        if (line.startsWith("~")) return "damaged";
        if (!line.endsWith("!")) throw new CellError("LINK_PROTOCOL", `no such line: ${line}`);
        return line;
      },
      probe: () => word("who"),
    },
    { device: "paper", replyTimeoutS: 0.05, quietS: 0.01, staleAtOpen },
  );
  await link.open();
  return { paper, link, news, ask: (name, options) => link.exchange(name, () => word(name), options) };
}

t.test("a reply that comes while the request is still being written finds its matcher", async (t) => {
  const { paper, ask } = await made();
  paper.device = (text) => paper.say(`${text}!`);
  t.equal(await ask("a"), "a!");
});

t.test("one in flight: the second is written when the first is answered, and not before", async (t) => {
  const { paper, link, ask } = await made();
  const [first, second] = [ask("a"), ask("b")];
  await new Promise((resolve) => setImmediate(resolve));
  t.strictSame(paper.written, ["a"]);
  const stop = link.post(word("stop"));
  t.strictSame(paper.written, ["a", "stop"], "a stop waits for nobody");
  paper.say("stop!");
  t.equal(await stop, "stop!");
  paper.say("a!");
  t.equal(await first, "a!");
  paper.device = (text) => paper.say(`${text}!`);
  await new Promise((resolve) => setImmediate(resolve));
  paper.say("b!");
  t.equal(await second, "b!");
});

t.test(
  "after a timeout: late replies are counted, the line is synchronised before the next request",
  async (t) => {
    const { paper, link, news, ask } = await made();
    await t.rejects(ask("a"), {
      code: "LINK_TIMEOUT",
      message: /paper: no reply to a after 0\.0[5-9]|after 0\.[1-9]/,
    });
    paper.say("half a line of the past");
    paper.say("a!");
    paper.say("news 1");
    paper.device = (text) => paper.say(`${text}!`);
    t.equal(await ask("b"), "b!");
    t.strictSame(paper.written, ["a", "who", "b"]);
    t.strictSame(news, ["news 1"]);
    t.strictSame(link.counters, { requests: 3, timeouts: 1, late: 1, damaged: 1, resynchronised: 1 });
  },
);

t.test(
  "a damaged line is counted and leaves the request waiting; a foreign one closes the link",
  async (t) => {
    const { paper, link, ask } = await made();
    const reasons: string[] = [];
    link.onClosed = (reason) => reasons.push(reason.code);
    const first = ask("a");
    await new Promise((resolve) => setImmediate(resolve));
    paper.say("~~");
    paper.say("a!");
    t.equal(await first, "a!");
    t.equal(link.counters.damaged, 1);
    const [second, queued] = [ask("b"), ask("c")];
    const failed = Promise.all([
      t.rejects(second, { code: "LINK_PROTOCOL" }),
      t.rejects(queued, { code: "LINK_CLOSED" }),
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    paper.say("what");
    await failed;
    t.strictSame(reasons, ["LINK_PROTOCOL"]);
    t.notOk(paper.isOpen);
  },
);

t.test("a link that may hold the past is synchronised before the first request", async (t) => {
  const { paper, ask } = await made(true);
  paper.say("garbage from before");
  paper.device = (text) => paper.say(`${text}!`);
  await ask("a");
  t.strictSame(paper.written, ["who", "a"]);
});

t.test("a line that cannot be synchronised is given up", async (t) => {
  const { paper, link, ask } = await made(true);
  const reasons: string[] = [];
  link.onClosed = (reason) => reasons.push(reason.code);
  await t.rejects(ask("a"), { code: "LINK_CLOSED" });
  t.strictSame(reasons, ["LINK_CLOSED"]);
  t.notOk(paper.isOpen);
});

t.test("an abort or a withdrawn permit keeps the bytes back", async (t) => {
  const { paper, ask } = await made();
  const abort = new AbortController();
  abort.abort();
  await t.rejects(ask("a", { signal: abort.signal }), { code: "LINK_ABORTED" });
  await t.rejects(
    ask("b", {
      permit() {
        throw new CellError("LINK_ABORTED", "no longer");
      },
    }),
    { code: "LINK_ABORTED" },
  );
  t.strictSame(paper.written, []);
});

t.test("closing ends every wait", async (t) => {
  const { link, ask } = await made();
  const waits = Promise.all([
    t.rejects(ask("a"), { code: "LINK_CLOSED" }),
    t.rejects(link.post(word("stop")), { code: "LINK_CLOSED" }),
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  await link.close();
  await waits;
});
