/** The command line as a person meets it: a process, its output, its exit code. */
import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import { systemClock } from "../../src/base/clock.js";
import { CellError } from "../../src/base/errors.js";
import { projectRoot } from "../../src/base/paths.js";
import { createProgram } from "../../src/cli/program.js";
import { CommandServer } from "../../src/service/command/server.js";
import { FakeCell } from "../service/daemon/fake-cell.js";

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function surgiclaw(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const file = path.join(projectRoot, "dist", "src", "cli", "main.js");
    execFile(process.execPath, [file, ...args], { env: { ...process.env, ...env } }, (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err });
    });
  });
}

async function daemon(
  t: Test,
): Promise<{ cell: FakeCell; env: { SURGICLAW_ENDPOINT: string }; server: CommandServer }> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-cli-"));
  const cell = new FakeCell();
  const endpoint = `ipc://${folder}/c.sock`;
  const server = new CommandServer(cell, {
    endpoint,
    events: `ipc://${folder}/e.sock`,
    mode: "0600",
    leaseS: 5,
    version: "0",
    clock: systemClock,
  });
  await server.open();
  t.teardown(async () => server.close());
  return { cell, env: { SURGICLAW_ENDPOINT: endpoint }, server };
}

t.test("every verb has help with an example, and an unknown one is a usage error", async (t) => {
  const check = (command: ReturnType<typeof createProgram>, name: string): void => {
    if (command.commands.length > 0) {
      for (const child of command.commands) check(child, `${name} ${child.name()}`);
      return;
    }
    let text = "";
    command.configureOutput({ writeOut: (part) => (text += part) });
    command.outputHelp();
    t.match(text, /Example: npx surgiclaw/, name);
  };
  for (const command of createProgram().commands) check(command, command.name());
  t.match(await surgiclaw(["fly"]), { code: 2, err: /unknown command/ });
  t.match(await surgiclaw(["start", "p.yaml"]), { code: 2, err: /--query/ });
  t.match(await surgiclaw(["choose", "DANCE"]), { code: 2, err: /Allowed choices/ });
  t.match(await surgiclaw(["--help"]), { code: 0, out: /Exit codes: 0 done/ });
});

t.test("verbs reach the daemon; text for people, JSON for programs, no colour in a pipe", async (t) => {
  const { cell, env } = await daemon(t);
  const status = await surgiclaw(["status"], env);
  t.equal(status.code, 0, status.err);
  t.match(status.out, /cell +fake: inactive/);
  t.notOk(status.out.includes("\u001b"));
  t.match(JSON.parse((await surgiclaw(["status", "--json"], env)).out), { cell: "fake", lease: null });
  t.match(await surgiclaw(["stop", "--reason", "smoke"], env), { code: 0 });
  t.match(cell.calls.at(-1), /^stop smoke by .+@/);
  for (const verb of ["reset", "confirm", "retry", "takeover", "handback"]) {
    t.equal((await surgiclaw([verb], env)).code, 0, verb);
    t.match(cell.calls.at(-1), new RegExp(`^${verb}`));
  }
  const started = await surgiclaw(["start", "p.yaml", "--query", "implant", "--json"], env);
  t.match(JSON.parse(started.out), { recording: "/runs/1" });
  t.equal(cell.calls.at(-1), `start ${path.resolve("p.yaml")} implant`, "the path is made absolute");
});

t.test("refusals say what to do and have their exit code", async (t) => {
  const { cell, env } = await daemon(t);
  cell.reset = () => Promise.reject(new CellError("COMMAND_INVALID", "nothing is latched"));
  const refused = await surgiclaw(["reset"], env);
  t.equal(refused.code, 1);
  t.match(refused.err, /COMMAND_INVALID.*nothing is latched\n +what to do:/);
  const json = await surgiclaw(["reset", "--json"], env);
  t.match(JSON.parse(json.out), { error: { code: "COMMAND_INVALID" } });
  const nobody = await surgiclaw(["status"], { SURGICLAW_ENDPOINT: "ipc:///nowhere/c.sock" });
  t.equal(nobody.code, 4);
  t.match(nobody.err, /no daemon serves/);
});

t.test("start --watch shows each cycle and ends with the procedure's exit code", async (t) => {
  const { cell, env, server } = await daemon(t);
  cell.start = () => {
    Object.assign(cell.status_, { procedure: "running", reason: "aligning" });
    server.publish({
      topic: "cycle",
      event: {
        ...{ cycle: 4, atS: 1, observation: "obs-1", reasoner: "rules" },
        ...{ rationale: "the needle\u001b[31m is seen\nsharp", answer: "align", skill: "SOME_SKILL" },
        ...{
          verdict: "refused",
          reasons: [{ code: "prerequisite", detail: "not registered" }],
          refusalsInRow: 2,
        },
      },
    });
    setTimeout(() => Object.assign(cell.status_, { procedure: "waiting_operator", reason: "asks" }), 300);
    return Promise.resolve({ recording: "/runs/2", targets: 1, detail: "started" });
  };
  const watched = await surgiclaw(["start", "p.yaml", "--query", "q", "--watch"], env);
  t.equal(watched.code, 3, "waits for an operator, and there is no terminal");
  t.match(watched.out, /cycle 4/);
  t.match(
    watched.out,
    /rationale +the needle\[31m is seen sharp/,
    "no control characters reach the terminal",
  );
  t.match(watched.out, /refused SOME_SKILL \(2 in a row\)/);
  t.match(watched.out, /reason +prerequisite: not registered/);
  t.match(watched.out, /not proof of what a model thought/);
});

t.test("files are checked: configuration and audit log", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-cli-"));
  const file = path.join(folder, "bad.yaml");
  await writeFile(file, "cel: {}\n");
  const checked = await surgiclaw(["config", "check", file]);
  t.equal(checked.code, 6);
  t.match(checked.err, /bad\.yaml:1: cel: unknown key; did you mean "cell"/);
  t.match(await surgiclaw(["config", "explain", "loop.refusalBudget"]), {
    code: 0,
    out: /whole number 1 to 20/,
  });
  t.match(await surgiclaw(["audit", "verify", path.join(folder, "none")]), {
    code: 6,
    err: /there is no file/,
  });
  await writeFile(path.join(folder, "audit.jsonl"), '{"seq":1,"forged":true}\n');
  t.match(await surgiclaw(["audit", "verify", folder]), { code: 6, out: /BROKEN/ });
  t.match(await surgiclaw(["twin", "stop", "--folder", folder]), { code: 4, err: /there is no twin/ });
});
