/** The worker link of observers: a worker made here, and the example in Python. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import { Router } from "zeromq";
import { projectRoot } from "../../../src/base/paths.js";
import type { ObserverQuestion } from "../../../src/lab/phase/observer/observer.js";
import { ZeromqObserver } from "../../../src/lab/phase/observer/zeromq-observer.js";
import { parseRecord } from "../../../src/lab/phase/phase-record.js";
import { drawStoryboard, type Storyboard } from "../../../src/lab/phase/storyboard/storyboard.js";
import { readEpisode } from "../../../src/lab/phase/support-pool.js";
import { makePool } from "./fixtures.js";

const never = new AbortController().signal;
const made = makePool({ frames: true });
const address = async (): Promise<string> =>
  `ipc://${path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-observer-")), "w")}`;

const boards = new Map<string, Promise<Storyboard>>();
async function question(episode: string, form: "steps" | "seconds" = "steps"): Promise<ObserverQuestion> {
  const { pool, vocabulary } = await made;
  const draw = async (): Promise<Storyboard> =>
    drawStoryboard(pool, vocabulary, await readEpisode(pool, vocabulary, episode));
  const board = boards.get(episode) ?? draw();
  boards.set(episode, board);
  return { episode, steps: 40, vocabulary, form, board: await board };
}

t.test("the request holds all that is needed; replies to others are dropped", async (t) => {
  const endpoint = await address();
  const socket = new Router({ linger: 0 });
  await socket.bind(endpoint);
  const observer = new ZeromqObserver({ endpoint, mode: "connect", budgetS: 10 });
  await t.rejects(
    observer.observe(await question("drop"), never),
    { code: "OBSERVER_FAILED" },
    "not started",
  );
  await observer.start();
  const asked = await question("drop");
  const asking = observer.observe(asked, never);
  const [peer, head, data, prompt, ...images] = await socket.receive();
  const header = JSON.parse(String(head)) as { id: string; images: { sha256: string }[] };
  t.match(header, {
    protocol: "surgiclaw.phase-observer/1",
    storyboardSha256: asked.board?.sha256,
    tokenLimit: 400,
  });
  t.same(
    header.images.map(({ sha256 }) => sha256),
    images.map((png) => createHash("sha256").update(png).digest("hex")),
  );
  t.match(header.images, [{ kind: "time", steps: [0], timesS: [0.05], width: 688 }, { steps: [9] }]);
  t.match(header.images[6], { kind: "motion", steps: [0, 39] });
  t.match(JSON.parse(String(data)), {
    task: "BlockPick",
    steps: 40,
    form: "steps",
    phases: [{}, { label: "approach" }],
  });
  t.notMatch(String(data), /rank|drop/, "neither ranks nor the name of the episode");
  t.match(JSON.parse(String(prompt)), { system: /furthest phase/, user: /Steps shown/ });
  const reply = {
    protocol: "surgiclaw.phase-observer/1",
    id: header.id,
    storyboardSha256: asked.board?.sha256,
    finishReason: "stop",
    model: "m/2",
  };
  const send = (changes: object): Promise<void> =>
    socket.send([peer ?? "", JSON.stringify({ ...reply, ...changes }), "{}"]);
  await send({ id: "other" });
  await send({ storyboardSha256: "0".repeat(64) });
  await send({ protocol: "surgiclaw.reasoner/1" });
  await send({});
  t.match(await asking, { text: "{}", finishReason: "stop", model: "m/2" });
  t.same(observer.counters, { requests: 1, replies: 1, late: 0, foreign: 2, malformed: 1 });
  socket.close();
  await observer.close();
  await observer.close();
});

t.test("no worker: one deadline; cancelled: at once", async (t) => {
  const observer = new ZeromqObserver({ endpoint: await address(), mode: "bind", budgetS: 0.2 });
  await observer.start();
  await t.rejects(observer.observe(await question("drop"), never), { code: "OBSERVER_FAILED" });
  await t.rejects(observer.observe(await question("drop"), AbortSignal.abort()), { code: "LINK_ABORTED" });
  await observer.close();
});

const python = process.env["SURGICLAW_PYTHON"] ?? "/usr/bin/python3";
function present(): boolean {
  try {
    execFileSync(python, ["-c", "import zmq, numpy, PIL"], { stdio: "ignore", timeout: 30000 });
    return true;
  } catch {
    return false;
  }
}

async function start(t: Test, endpoint: string, ...flags: string[]): Promise<ChildProcess> {
  const script = path.join(projectRoot, "examples/phase-observer/observer.py");
  const child = spawn(python, [script, "--connect", endpoint, ...flags], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  // Whatever becomes of the test, the worker does not outlive it.
  t.teardown(() => child.kill("SIGKILL"));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`the worker ended with ${code ?? "a signal"}`)));
  });
  return child;
}

t.test("the example worker", { skip: present() ? false : `${python} lacks zmq, numpy or PIL` }, async (t) => {
  const { vocabulary } = await made;
  const times = Array.from({ length: 40 }, (_, step) => (step + 1) / 20);

  t.test("sees whether anything moved, and between which panels", async (t) => {
    const endpoint = await address();
    const observer = new ZeromqObserver({ endpoint, mode: "bind", budgetS: 20 });
    await observer.start();
    const child = await start(t, endpoint);
    const ask = async (episode: string, form: "steps" | "seconds" = "steps") => {
      const reply = await observer.observe(await question(episode, form), never);
      t.match(reply, { finishReason: "stop", model: "example-observer/1" });
      return parseRecord(reply.text, vocabulary, form, times);
    };
    // The tool of `drop` moves from the start on; in `idle` nothing ever does. Panels at 0, 9, 15, 24, 30, 39.
    t.match(await ask("drop"), { ok: true, record: { phase: "approach", arrival: [0, 9], confidence: 0.5 } });
    t.match(await ask("idle"), { ok: true, record: { phase: "clear failure", arrival: null } });
    t.match(await ask("drop", "seconds"), { ok: true, record: { phase: "approach", arrival: [9, 9] } });
    child.kill("SIGKILL");
    await observer.close();
  });

  t.test("what it does wrong is refused", async (t) => {
    for (const [mode, expected] of [
      ["prose", { ok: false, reason: /not one JSON/ }],
      ["cut", { ok: false }],
    ] as const) {
      const endpoint = await address();
      const observer = new ZeromqObserver({ endpoint, mode: "bind", budgetS: 20 });
      await observer.start();
      const child = await start(t, endpoint, "--misbehave", mode);
      const reply = await observer.observe(await question("drop"), never);
      t.match(parseRecord(reply.text, vocabulary, "steps"), expected, mode);
      t.equal(reply.finishReason, mode === "cut" ? "length" : "stop");
      child.kill("SIGKILL");
      await observer.close();
    }
    for (const mode of ["hang", "late"]) {
      const endpoint = await address();
      const observer = new ZeromqObserver({ endpoint, mode: "bind", budgetS: 0.4 });
      await observer.start();
      const child = await start(t, endpoint, "--misbehave", mode);
      await t.rejects(observer.observe(await question("drop"), never), { code: "OBSERVER_FAILED" }, mode);
      child.kill("SIGKILL");
      await observer.close();
    }
  });
});
