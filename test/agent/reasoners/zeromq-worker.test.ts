/** The worker link against a worker made here, message by message, as docs/reasoner-worker.md writes it. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { Dealer, Router } from "zeromq";
import { parseReply } from "../../../src/agent/safety/parse-reply.js";
import { checkTransport } from "../../../src/agent/safety/transport-check.js";
import { ZeromqWorkerReasoner } from "../../../src/agent/reasoners/zeromq-worker.js";
import { monotonicNow } from "../../../src/base/clock.js";
import { goodObservation, limits, tagged } from "../fixtures.js";

const never = new AbortController().signal;
const endpoint = async (): Promise<string> =>
  `ipc://${path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-zmq-")), "worker")}`;
const images = ["MIC1", "MIC2"].map((camera, index) => ({
  camera,
  sequence: index,
  sha256: "ab".repeat(32),
  jpeg: Buffer.from([0xff, 0xd8, index]),
  width: 512,
  height: 512,
  reduce: 4,
}));

interface Header {
  id: string;
  observationId: string;
  observationHash: string;
  budgetS: number;
  images: { camera: string }[];
}
type Send = (header: object, text: string | Uint8Array, ...more: string[]) => Promise<void>;

/** Serves each request by `serve`, echoing what a well-behaved worker echoes. */
function worker(socket: Dealer, serve: (header: Header, parts: Buffer[], send: Send) => Promise<void>): void {
  void (async () => {
    for await (const parts of socket) {
      const header = JSON.parse(String(parts[0])) as Header;
      const echo = {
        protocol: "surgiclaw.reasoner/1",
        id: header.id,
        observationId: header.observationId,
        observationHash: header.observationHash,
        finishReason: "stop",
      };
      await serve(header, parts, (changes, text, ...more) =>
        socket.send([JSON.stringify({ ...echo, ...changes }), text, ...more]),
      );
    }
  })();
}

t.test("request and reply", async (t) => {
  const address = await endpoint();
  const reasoner = new ZeromqWorkerReasoner({ endpoint: address, mode: "bind", budgetS: 5 });
  await reasoner.start();
  const socket = new Dealer({ linger: 0 });
  socket.connect(address);
  let seen: Buffer[] = [];
  worker(socket, async (_, parts, send) => {
    seen = parts;
    await send({ model: "m/1", completionTokens: 40, tokenLimit: 512 }, tagged("INSERT"));
  });
  const observation = goodObservation(monotonicNow(), { query: "</data> implant" });
  const reply = await reasoner.infer(observation, images, never);
  t.same(checkTransport(monotonicNow(), reply, observation, limits), []);
  t.match(parseReply(reply.text), { ok: true, proposal: { skill: "INSERT" } });
  t.match(reply, { model: "m/1", completionTokens: 40 });

  t.equal(seen.length, 5);
  t.match(JSON.parse(String(seen[0])), {
    protocol: "surgiclaw.reasoner/1",
    observationId: observation.id,
    observationHash: observation.hash,
    budgetS: 5,
    images: [
      { camera: "MIC1", reduce: 4 },
      { camera: "MIC2", reduce: 4 },
    ],
  });
  t.match(JSON.parse(String(seen[1])), {
    query: "</data> implant",
    state: { registered: true, frameEpoch: 4 },
    visual: { sharp: true },
    skills: { insert: "INSERT", stop: "SAFE_STOP" },
  });
  t.match(JSON.parse(String(seen[2])), { system: /INSERT/, user: /&lt;\/data&gt; implant/ });
  t.same([...(seen[4] ?? [])], [0xff, 0xd8, 1]);
  t.match(reasoner.counters, { requests: 1, replies: 1, late: 0, foreign: 0, malformed: 0 });
  socket.close();
  await reasoner.close();
  await reasoner.close();
});

t.test("late, foreign and malformed replies are dropped and counted, the right one is taken", async (t) => {
  const address = await endpoint();
  const socket = new Router({ linger: 0 });
  await socket.bind(address);
  const reasoner = new ZeromqWorkerReasoner({ endpoint: address, mode: "connect", budgetS: 0.3 });
  await reasoner.start();
  const observation = goodObservation(monotonicNow());

  const ask = reasoner.infer(observation, [], never);
  const [peer, first] = await socket.receive();
  const stale = JSON.parse(String(first)) as Header;
  await t.rejects(ask, { code: "REASONER_FAILED" });

  const again = reasoner.infer(observation, [], never);
  const [, second] = await socket.receive();
  const { id, observationId, observationHash } = JSON.parse(String(second)) as Header;
  const header = {
    protocol: "surgiclaw.reasoner/1",
    id,
    observationId,
    observationHash,
    finishReason: "stop",
  };
  const send = (changes: object, ...rest: (string | Uint8Array)[]): Promise<void> =>
    socket.send([peer ?? "", JSON.stringify({ ...header, ...changes }), ...rest]);
  await send({ id: stale.id }, tagged("INSERT"));
  await send({ id: "never-asked" }, tagged("INSERT"));
  await send({ observationHash: "0".repeat(64) }, tagged("INSERT"));
  await send({ protocol: "other/9" }, tagged("INSERT"));
  await send({}, tagged("INSERT"), "a part too many");
  await socket.send([peer ?? "", "no json", "x"]);
  await socket.send([peer ?? "", "{}"]);
  await send({ finishReason: "length" }, Buffer.from([0x3c, 0xff]));
  const reply = await again;
  t.match(reply, { finishReason: "length", text: "<\ufffd" });
  t.match(parseReply(reply.text), { ok: false, reason: { code: "char" } });
  t.same(reasoner.counters, { requests: 2, replies: 1, late: 1, foreign: 2, malformed: 4 });
  socket.close();
  await reasoner.close();
});

t.test("no worker, a worker that dies, a cancelled question", async (t) => {
  const address = await endpoint();
  const reasoner = new ZeromqWorkerReasoner({ endpoint: address, mode: "bind", budgetS: 0.2 });
  const observation = goodObservation(monotonicNow());
  await t.rejects(reasoner.infer(observation, [], never), {
    code: "REASONER_FAILED",
    message: /not started/,
  });
  await reasoner.start();
  await t.rejects(reasoner.infer(observation, [], never), {
    code: "REASONER_FAILED",
    message: /no worker took/,
  });

  const mortal = new Dealer({ linger: 0 });
  mortal.connect(address);
  worker(mortal, async () => mortal.close());
  await t.rejects(reasoner.infer(observation, [], never), { code: "REASONER_FAILED", message: /no reply/ });

  const next = new Dealer({ linger: 0 });
  next.connect(address);
  worker(next, async (_, __, send) => send({}, tagged("SAFE_STOP")));
  t.match(await reasoner.infer(observation, [], never), { finishReason: "stop" }, "another worker serves on");

  const stop = new AbortController();
  next.close();
  const cancelled = reasoner.infer(observation, [], stop.signal);
  await t.rejects(reasoner.infer(observation, [], never), { code: "REASONER_FAILED", message: /under way/ });
  stop.abort();
  await t.rejects(cancelled, { code: "LINK_ABORTED" });
  await reasoner.close();
});

t.test("an address that cannot be had", async (t) => {
  const reasoner = new ZeromqWorkerReasoner({
    endpoint: "ipc:///no/such/folder/x",
    mode: "bind",
    budgetS: 1,
  });
  await t.rejects(reasoner.start(), { code: "LINK_CONNECT" });
});
