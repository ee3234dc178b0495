/** surgiclaw twin start | status | stop | faults | fault */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { systemClock, withDeadline } from "../base/clock.js";
import { CellError } from "../base/errors.js";
import { projectRoot } from "../base/paths.js";
import { wholeNumber } from "./procedure.js";
import { Children } from "./shared/children.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { interruptSignal } from "./shared/follow.js";
import { print, printJson } from "./shared/output.js";
import { callTwin } from "./shared/twin-client.js";
import { twinSockets, type TwinPlace } from "./shared/twin-place.js";
import { startTwin } from "./shared/twin-program.js";

interface StartOptions {
  readonly seed: number;
  readonly scenario: string;
  readonly host: string;
  readonly camera1: string;
  readonly camera2: string;
  readonly folder: string;
}

interface ControlOptions {
  readonly folder: string;
  readonly json?: boolean;
}

/** The place that surgiclawd.example.yaml expects. */
const defaultFolder = path.join(projectRoot, "runs", "twin");

const pidFile = (folder: string): string => path.join(folder, "twin.pid");

const noTwin = (folder: string): CellError =>
  new CellError("LINK_CONNECT", `there is no twin in ${folder}`, {
    remedy: "start it with `npx surgiclaw twin start`",
  });

/** Runs in the foreground until Ctrl-C or `twin stop`. */
async function start(options: StartOptions): Promise<void> {
  const folder = path.resolve(options.folder);
  await mkdir(folder, { recursive: true });
  const place: TwinPlace = { host: options.host, cameras: [options.camera1, options.camera2], folder };
  const children = new Children();
  const signal = interruptSignal();
  try {
    const twin = await startTwin(children, place, options, path.join(folder, "twin.log"), signal);
    print(`twin ready: arm and stages ${place.host}, cameras ${place.cameras.join(" and ")}`);
    print(`needle drive ${twinSockets(folder).needle}; log ${path.join(folder, "twin.log")}`);
    await writeFile(pidFile(folder), String(process.pid));
    print("next, in another terminal: npx surgiclawd --config surgiclawd.example.yaml");
    const interrupted = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([twin.ended, interrupted]);
  } finally {
    await rm(pidFile(folder), { force: true });
    await children.endAll();
  }
}

/** The process that runs the twin of a folder; undefined when it has ended without telling. */
async function runningTwin(folder: string): Promise<number | undefined> {
  const pid = Number(await readFile(pidFile(folder), "utf8").catch(() => "NaN"));
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  // The number may have been given to another program since.
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.split("\0").includes("twin") ? pid : undefined;
}

async function stop(options: ControlOptions): Promise<void> {
  const folder = path.resolve(options.folder);
  const pid = await runningTwin(folder);
  if (pid === undefined) throw noTwin(options.folder);
  process.kill(pid, "SIGTERM");
  const ended = async (): Promise<void> => {
    while ((await runningTwin(folder)) !== undefined) await systemClock.sleep(0.1);
  };
  await withDeadline(ended(), 20, "the twin's end");
  if (options.json === true) printJson({ stopped: pid });
  else print("the twin has ended");
}

async function send(method: string, params: Record<string, unknown>, options: ControlOptions): Promise<void> {
  const { control } = twinSockets(path.resolve(options.folder));
  if (!existsSync(control.slice("ipc://".length))) {
    throw noTwin(options.folder);
  }
  const result = await callTwin(control, method, params);
  if (options.json === true) printJson(result);
  else print(result === null ? "done" : JSON.stringify(result, undefined, 2));
}

export function addTwin(program: Command): void {
  const twin = program.command("twin").description("the simulated cell, as processes of its own");
  twin
    .command("start")
    .description("run a twin in the foreground until Ctrl-C")
    .option("--seed <number>", "draws the true cell and scene", wholeNumber, 7)
    .option("--scenario <name>", "default, hard, needle-broken, or the path of a scenario file", "default")
    .option("--host <address>", "arm and stage controller", "127.0.0.1")
    .option("--camera1 <address>", "microscope of view 1", "127.0.0.2")
    .option("--camera2 <address>", "microscope of view 2", "127.0.0.3")
    .option("--folder <folder>", "sockets and the needle's terminal", defaultFolder)
    .addHelpText("after", "\nExample: npx surgiclaw twin start --seed 7 --scenario hard")
    .action(guarded<[StartOptions]>(() => false, start));
  const control = (name: string, description: string, example: string): Command =>
    twin
      .command(name)
      .description(description)
      .option("--folder <folder>", "folder of the running twin", defaultFolder)
      .addOption(jsonOption())
      .addHelpText("after", `\nExample: npx surgiclaw twin ${example}`);
  const json = (options: ControlOptions): boolean => options.json === true;
  control("status", "which scenario a running twin plays; never its truth", "status").action(
    guarded<[ControlOptions]>(json, async (options) => send("info", {}, options)),
  );
  control("stop", "end a running twin", "stop").action(guarded<[ControlOptions]>(json, stop));
  control("faults", "the faults that a running twin can be given", "faults").action(
    guarded<[ControlOptions]>(json, async (options) => send("faults", {}, options)),
  );
  control("fault", "switch on a fault (or its end) in a running twin", "fault camera-offline 1")
    .argument("<fault>", "a name that `surgiclaw twin faults` lists")
    .argument("[value]", "what it takes: a number, on or off, a name")
    .action(
      guarded<[string, string | undefined, ControlOptions]>(
        (_fault, _target, options) => json(options),
        async (fault, target, options) => {
          const which =
            target === undefined ? {} : { target: /^-?\d+(\.\d+)?$/.test(target) ? Number(target) : target };
          await send("fault", { fault, ...which }, options);
        },
      ),
    );
}
