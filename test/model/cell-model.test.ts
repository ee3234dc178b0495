/**
 * The model of who may move the cell (cell.pml): every state is checked with spin, broken variants are caught, and sequences
 * drawn from the model are run against the real state machine, state by state. `npm run test:model` runs 100,000 sequences,
 * `npm test` a share of them.
 */
import { execFile, spawn } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { CellUnderModel, type MessageKind } from "./cell-under-model.js";

const run = promisify(execFile);
const wanted = Number(process.env["SURGICLAW_SEQUENCES"] ?? 400);
const seed = Number(process.env["SURGICLAW_SEED"] ?? 7);
const timeout = 1_800_000;
const model = path.join(projectRoot, "test", "model", "cell.pml");

/** Compiles and runs the checker of one variant in a folder of its own. */
async function check(
  t: Test,
  definitions: readonly string[],
  options: { readonly live?: boolean } = {},
): Promise<{ readonly errors: number; readonly states: number; readonly text: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-model-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await copyFile(model, path.join(folder, "cell.pml"));
  const live = options.live === true;
  const defined = [...definitions, ...(live ? ["LIVE"] : [])].map((name) => `-D${name}`);
  await run("spin", [...defined, "-a", "cell.pml"], { cwd: folder });
  const kind = live ? "-DNFAIR=3" : "-DSAFETY";
  await run("cc", ["-O2", "-w", kind, "-DVECTORSZ=2048", "-o", "pan", "pan.c"], { cwd: folder });
  const { stdout } = await run("./pan", [...(live ? ["-a", "-f"] : []), "-m200000"], { cwd: folder });
  const errors = Number(/errors: (\d+)/.exec(stdout)?.[1] ?? NaN);
  return { errors, states: Number(/(\d+) states, stored/.exec(stdout)?.[1] ?? NaN), text: stdout };
}

t.test("every state keeps the invariants", { timeout }, async (t) => {
  const { errors, states, text } = await check(t, []);
  t.equal(errors, 0);
  t.comment(`${states} states`);
  t.ok(states > 1e6, "the model is not empty");
  t.notMatch(text, /max search depth too small/);
});

t.test("a stop ends motion and a dead daemon's motion is ended, under fairness", { timeout }, async (t) => {
  t.equal((await check(t, [], { live: true })).errors, 0);
});

const broken = [
  ["BROKEN_EPOCH", "from[s]==holder"],
  ["BROKEN_ONCE", "executed[admitted]"],
  ["BROKEN_LATCH", "stopWanted"],
  ["BROKEN_FRESH", "frozen"],
  ["BROKEN_RECORD", "recorded"],
] as const;

t.test("the checker catches what is broken on purpose", { timeout }, async (t) => {
  for (const [variant, assertion] of broken) {
    const { errors, text } = await check(t, [variant]);
    t.equal(errors, 1, variant);
    t.ok(/assertion violated (.*)/.exec(text)?.[1]?.includes(assertion) === true, `${variant}: ${assertion}`);
  }
});

/** One line of the model's simulation: what was done, and the state behind it. */
const line = /@ a_([a-z_]+) (\d+) (\d+) \| ([a-z_]+) (\d) (\d) (\d) (\d)/;

async function act(cell: CellUnderModel, action: string, a: number, b: number): Promise<void> {
  switch (action) {
    case "acquire": {
      cell.acquire(a);
      return;
    }
    case "expire": {
      cell.expire();
      return;
    }
    case "send_start":
    case "send_go":
    case "send_reset": {
      cell.send(action.slice("send_".length) as MessageKind, a, b);
      return;
    }
    case "lose": {
      cell.lose(a);
      return;
    }
    case "double": {
      cell.double(a);
      return;
    }
    case "deliver":
      return cell.deliver(a);
    case "stop":
      return cell.stop();
    case "latch_on_disk": {
      cell.writeLatch();
      return;
    }
    case "recorded": {
      cell.recorded();
      return;
    }
    case "not_recorded": {
      cell.notRecorded();
      return;
    }
    case "finish": {
      cell.finish();
      return;
    }
    case "freeze":
      cell.frozen = a === 1;
      return;
    case "full":
      cell.full = a === 1;
      return;
    case "crash": {
      cell.crash();
      return;
    }
    case "guardian":
      cell.moving = false;
      return;
    case "restart": {
      cell.restart();
      return;
    }
    default:
      throw new Error(`the model does ${action}, the test does not know it`);
  }
}

/** Actions that the loop answers in turns of its own. */
const rousing: ReadonlySet<string> = new Set([
  ...["deliver", "stop", "recorded", "not_recorded", "finish", "crash", "restart"],
]);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test(`${wanted} sequences of the model, on the real state machine`, { timeout }, async (t) => {
  t.comment(`seed ${seed}`);
  // It writes its preprocessed model where it runs.
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-model-"));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const spin = spawn("spin", ["-DTRACE", "-T", `-n${seed}`, "-u2000000000", path.resolve(model)], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let cell = new CellUnderModel();
  let history: string[] = [];
  let [sequences, actions, motions] = [0, 0, 0];
  const wrong: string[] = [];
  for await (const text of createInterface({ input: spin.stdout })) {
    if (text.includes("@ begin")) {
      sequences++;
      motions += cell.motions;
      wrong.push(...cell.wrongs.map((why) => `${why}:\n${history.join("\n")}`));
      cell.end();
      if (sequences >= wanted || wrong.length > 0) break;
      cell = new CellUnderModel();
      history = [];
      continue;
    }
    const match = line.exec(text);
    if (match === null) continue;
    const [, action = "", a, b, phase, latch, holder, moving, onDisk] = match;
    history.push(text.trim());
    await act(cell, action, Number(a), Number(b));
    // The line of a command that is delivered in the same breath comes before its effect.
    if (rousing.has(action)) for (let turn = 0; turn < 4; turn++) await nextTurn();
    actions++;
    const real = [
      cell.phase(),
      Number(cell.latched),
      cell.holder,
      Number(cell.moving),
      Number(cell.latchOnDisk),
    ];
    const expected = [phase, Number(latch), Number(holder), Number(moving), Number(onDisk)];
    if (real.join() !== expected.join())
      wrong.push(
        `the program is at ${real.join(" ")}, the model at ${expected.join(" ")}:\n${history.join("\n")}`,
      );
  }
  spin.kill("SIGKILL");
  t.same(wrong.slice(0, 1), []);
  t.equal(sequences, wanted);
  t.comment(`${sequences} sequences, ${actions} actions, ${motions} motions`);
  t.ok(motions > wanted / 50, "sequences get somewhere");
});
