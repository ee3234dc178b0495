/** Server and client of the command socket, and clients that do not behave. */
import { mkdtemp, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import { Dealer, Request } from "zeromq";
import { systemClock } from "../../../src/base/clock.js";
import { Skill } from "../../../src/agent/safety/skill-names.js";
import { CommandClient, subscribe } from "../../../src/service/command/client.js";
import { methods, type CellEvent } from "../../../src/service/command/protocol.js";
import { CommandServer } from "../../../src/service/command/server.js";
import { FakeCell } from "../daemon/fake-cell.js";

interface Bench {
  readonly cell: FakeCell;
  readonly server: CommandServer;
  readonly client: CommandClient;
  readonly endpoint: string;
  readonly events: string;
  readonly refused: string[];
}

async function bench(t: Test, leaseS = 30): Promise<Bench> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-cmd-"));
  const endpoint = `ipc://${folder}/command.sock`;
  const events = `ipc://${folder}/events.sock`;
  const cell = new FakeCell();
  const refused: string[] = [];
  const server = new CommandServer(cell, {
    endpoint,
    events,
    mode: "0660",
    leaseS,
    version: "1.2.3",
    clock: systemClock,
    onRefused: (why) => refused.push(why),
  });
  await server.open();
  const client = new CommandClient(endpoint, "ann");
  client.open();
  t.teardown(async () => {
    client.close();
    await server.close();
  });
  return { cell, server, client, endpoint, events, refused };
}

/** Sends raw frames, returns the JSON of the answer. */
async function raw(endpoint: string, frames: (string | Buffer)[]): Promise<Record<string, unknown>> {
  const dealer = new Dealer({ linger: 0, receiveTimeout: 3000 });
  try {
    dealer.connect(endpoint);
    await dealer.send(frames);
    const answer = await dealer.receive();
    return JSON.parse(String(answer.at(-1))) as Record<string, unknown>;
  } finally {
    dealer.close();
  }
}

t.test("calls reach the cell with lease and epoch", async (t) => {
  const { cell, client } = await bench(t);
  const described = await client.call("describe", {});
  t.equal(described.version, "1.2.3");
  t.same(described.methods, Object.keys(methods));
  t.same((await client.call("status", {})).lease, null);

  const started = await client.control("start", { procedure: "/p.yaml", query: "implant" });
  t.equal(started.targets, 3);
  await client.control("choose", { skill: Skill.align });
  t.same(cell.calls, ["start /p.yaml implant", `choose ${Skill.align}`]);

  await t.rejects(client.call("reset", { epoch: 1 }), { code: "LEASE_DENIED" }, "an epoch of the past");
  await t.rejects(client.control("start", { procedure: "p.yaml", query: "x" }), { code: "COMMAND_INVALID" });
  await t.rejects(client.control("plan", { targets: 3, file: "/p" }), {
    code: "VISION_UNKNOWN",
    detail: "no tissue in view",
    remedy: /focus/,
  });
});

t.test("a second client is refused while the first holds control, but may always stop", async (t) => {
  const { cell, client, endpoint } = await bench(t);
  const other = new CommandClient(endpoint, "bob");
  other.open();
  t.teardown(() => other.close());
  await client.control("takeover", {});
  await t.rejects(other.control("reset", {}), { code: "LEASE_DENIED", detail: /ann/ });
  await other.call("stop", { reason: "smoke", client: "bob" });
  t.same(cell.calls, ["takeover ann", "stop smoke by bob"]);
  await client.control("handback", {});
  await other.control("reset", {});
  t.equal(cell.calls.at(-1), "reset");
});

t.test("a long call never keeps a stop waiting", async (t) => {
  const { cell, client } = await bench(t);
  let finish: (answer: { file: string; targets: number; detail: string }) => void = () => undefined;
  cell.planning = new Promise((resolve) => {
    finish = resolve;
  });
  const planning = client.control("plan", { targets: 3, file: "/p.yaml" }, { timeoutS: 20 });
  await client.call("stop", {}, { timeoutS: 5 });
  t.equal(cell.calls.at(-1), "stop stop command by unnamed client");
  finish({ file: "/p.yaml", targets: 3, detail: "planned" });
  t.equal((await planning).targets, 3);
});

t.test("a request id is executed once", async (t) => {
  const { cell, client, endpoint } = await bench(t);
  const { epoch } = await client.call("acquire", { client: "ann" });
  const request = JSON.stringify({ jsonrpc: "2.0", id: "once", method: "reset", params: { epoch } });
  t.match(await raw(endpoint, [request]), { id: "once", result: { detail: "reset" } });
  t.match(await raw(endpoint, [request]), { error: { data: { code: "COMMAND_INVALID" } } });
  t.equal(cell.calls.filter((call) => call === "reset").length, 1);
});

t.test("malformed requests get the error of JSON-RPC and never reach the cell", async (t) => {
  const { cell, endpoint, refused } = await bench(t);
  const errorOf = async (body: string): Promise<unknown> => (await raw(endpoint, [body]))["error"];
  t.match(await errorOf("{"), { code: -32700 });
  t.match(await errorOf("[]"), { code: -32600 });
  t.match(await errorOf('{"jsonrpc":"1.0","id":1,"method":"stop"}'), { code: -32600 });
  t.match(await errorOf('{"jsonrpc":"2.0","id":1,"method":"stop","extra":1}'), { code: -32600 });
  t.match(await errorOf('{"jsonrpc":"2.0","id":1,"method":"fly"}'), { code: -32601 });
  t.match(await errorOf('{"jsonrpc":"2.0","id":1,"method":"constructor"}'), { code: -32601 });
  const extra = await errorOf('{"jsonrpc":"2.0","id":1,"method":"stop","params":{"reson":"x"}}');
  t.match(extra, { code: -32602, message: /reson: unknown key; did you mean "reason"/ });
  const skill = '{"jsonrpc":"2.0","id":1,"method":"choose","params":{"epoch":1,"skill":"DANCE"}}';
  t.match(await errorOf(skill), { code: -32602 });
  t.same(cell.calls, []);
  t.equal(refused.length, 8);
});

t.test("a REQ socket is served too, as any language has one", async (t) => {
  const { endpoint } = await bench(t);
  const socket = new Request({ linger: 0, receiveTimeout: 3000 });
  t.teardown(() => socket.close());
  socket.connect(endpoint);
  await socket.send('{"jsonrpc":"2.0","id":7,"method":"status"}');
  const [answer] = await socket.receive();
  t.match(JSON.parse(String(answer)), { id: 7, result: { cell: "fake" } });
});

t.test("messages of too many frames are dropped, and the next one is served", async (t) => {
  const { client, endpoint, refused } = await bench(t);
  const dealer = new Dealer({ linger: 0 });
  t.teardown(() => dealer.close());
  dealer.connect(endpoint);
  await dealer.send(["a", "b", "c"]);
  await client.call("status", {});
  t.ok(refused.some((why) => /4 frames/.test(why)));
});

t.test("events reach those who ask for their topic", async (t) => {
  const { cell, server, events } = await bench(t);
  const stop = new AbortController();
  const seen: CellEvent[] = [];
  const reading = (async () => {
    for await (const item of subscribe(events, ["state", "log"], stop.signal)) {
      seen.push(item);
      if (seen.length === 2) return;
    }
  })();
  const publishing = setInterval(() => {
    server.publish({
      topic: "cycle",
      event: {
        ...{ cycle: 1, atS: 1, observation: "o", reasoner: "rules", rationale: "r", answer: "a" },
        ...{ skill: null, verdict: "refused", reasons: [], refusalsInRow: 1 },
      },
    });
    server.publish({ topic: "state", event: cell.status_ });
  }, 50);
  await reading;
  clearInterval(publishing);
  stop.abort();
  t.same(
    seen.map((item) => item.topic),
    ["state", "state"],
  );
});

t.test("the socket files: permissions, a dead owner's file, a living owner, no socket", async (t) => {
  const { endpoint, events, cell } = await bench(t);
  const file = endpoint.slice("ipc://".length);
  t.equal((await stat(file)).mode & 0o777, 0o660);
  t.equal((await stat(events.slice("ipc://".length))).mode & 0o777, 0o660);
  const options = { mode: "0600", leaseS: 1, version: "", clock: systemClock };
  const second = new CommandServer(cell, { ...options, endpoint, events: `${events}2` });
  await t.rejects(second.open(), { code: "LINK_BUSY" });
  await writeFile(`${file}.txt`, "text");
  const third = new CommandServer(cell, { ...options, endpoint: `${endpoint}.txt`, events: `${events}2` });
  await t.rejects(third.open(), { code: "CONFIG_INVALID", detail: /no socket/ });
  const long = `ipc:///tmp/${"x".repeat(120)}`;
  const fourth = new CommandServer(cell, { ...options, endpoint: long, events: `${events}2` });
  await t.rejects(fourth.open(), { code: "CONFIG_INVALID", detail: /107 bytes/ });
});

t.test("a client without a daemon says so, and one whose daemon is silent gives up in time", async (t) => {
  const nobody = new CommandClient("ipc:///nowhere/command.sock", "ann");
  t.throws(() => nobody.open(), { code: "LINK_CONNECT" });
  const { client, cell } = await bench(t);
  cell.planning = new Promise(() => undefined);
  const late = client.control("plan", { targets: 1, file: "/p" }, { timeoutS: 0.2 });
  await t.rejects(late, { code: "LINK_TIMEOUT", detail: /plan: no answer/ });
  const abort = new AbortController();
  const cancelled = client.control(
    "plan",
    { targets: 1, file: "/p" },
    { timeoutS: 60, signal: abort.signal },
  );
  setTimeout(() => abort.abort(), 50);
  await t.rejects(cancelled, { code: "LINK_ABORTED" });
});
