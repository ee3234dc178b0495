/** surgiclaw demo: twin and daemon together, one whole implantation. `npm start` runs this. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Option, type Command } from "commander";
import { systemClock } from "../base/clock.js";
import { projectRoot } from "../base/paths.js";
import { CommandClient } from "../service/command/client.js";
import type { CellEvent, CellStatus } from "../service/command/protocol.js";
import { cliExit } from "./exit-codes.js";
import { wholeNumber } from "./procedure.js";
import { Children, programFile, type Child } from "./shared/children.js";
import { clientName, guarded, jsonOption } from "./shared/connection.js";
import { untilReady } from "./shared/daemon-program.js";
import { eventLines, rationaleNote } from "./shared/event-view.js";
import { exitCodeForState, follow, interruptSignal } from "./shared/follow.js";
import { OperatorPrompt } from "./shared/operator.js";
import { oneLine, paint, print, printJson } from "./shared/output.js";
import { readSummary, summaryLines } from "./shared/summary.js";
import { choosePlace, daemonConfig, twinSockets, type TwinPlace } from "./shared/twin-place.js";
import { startTwin } from "./shared/twin-program.js";

interface DemoOptions {
  readonly seed: number;
  readonly targets: number;
  readonly scenario: string;
  readonly reasoner: "rules" | "zmq";
  readonly query: string;
  readonly calibration?: string;
  readonly summary?: string;
  readonly operatorTimeout?: number;
  readonly keep?: boolean;
  readonly json?: boolean;
}

/** Time limits, s: a cold machine under load is slow, a hung program is not waited for without end. */
const limits = { daemonReadyS: 120, planS: 180, evaluateS: 120 } as const;

/** What is said while it runs; with --json only events and the summary go to standard output. */
class Voice {
  private readonly began = systemClock.now();

  constructor(private readonly json: boolean) {}

  say(text: string): void {
    if (this.json) return;
    const seconds = (systemClock.now() - this.began).toFixed(0).padStart(4);
    print(`${paint("dim", `[${seconds} s]`)} ${text}`);
  }

  lines(lines: readonly string[]): void {
    if (!this.json) lines.forEach((line) => print(line));
  }

  event(item: CellEvent): void {
    if (this.json) printJson(item);
    else this.lines(eventLines(item));
  }

  elapsedS(): number {
    return systemClock.now() - this.began;
  }
}

/** One demonstration: its programs, its folder, its course. */
class Demo {
  private readonly children = new Children();
  private readonly signal = interruptSignal();
  private readonly voice: Voice;
  private readonly runFolder: string;

  constructor(private readonly options: DemoOptions) {
    this.voice = new Voice(options.json === true);
    const stamp = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
    this.runFolder = path.join(
      projectRoot,
      "runs",
      `${stamp}-${options.scenario.replaceAll(/\W+/g, "-")}-${options.seed}`,
    );
  }

  /** Resolves with the exit code; whatever happens, no program is left behind. */
  async run(): Promise<number> {
    let place: TwinPlace | undefined;
    try {
      await mkdir(this.runFolder, { recursive: true });
      place = await choosePlace();
      return await this.course(place);
    } catch (error) {
      if (!this.signal.aborted) throw error;
      this.voice.say("interrupted: stopping the cell and ending all programs");
      return cliExit.interrupted;
    } finally {
      await this.children.endAll();
      if (place !== undefined) await rm(place.folder, { recursive: true, force: true });
    }
  }

  private async course(place: TwinPlace): Promise<number> {
    const { voice, options } = this;
    voice.say(`twin: scenario ${options.scenario}, seed ${options.seed}`);
    await startTwin(this.children, place, options, this.log("twin"), this.signal);
    const daemon = await this.startDaemon(place);
    if (options.reasoner === "zmq") this.startWorker(place);
    const client = new CommandClient(`ipc://${place.folder}/command.sock`, clientName());
    const prompt = new OperatorPrompt(client);
    try {
      const waits = (reason: string): void => voice.say(paint("dim", `daemon waits: ${oneLine(reason)}`));
      const ready = await untilReady(this.children, daemon, client, limits.daemonReadyS, this.signal, waits);
      voice.say(`daemon: ${ready.reason}`);
      voice.say(
        paint("dim", `other terminals: npx surgiclaw --help, with SURGICLAW_ENDPOINT=${client.endpoint}`),
      );
      const status = await this.procedure(client, prompt);
      const code = exitCodeForState(status.procedure);
      voice.say(`${status.procedure.replaceAll("_", " ")}: ${oneLine(status.reason)}`);
      const wallS = voice.elapsedS();
      if (options.keep === true) await this.keep(client);
      await this.children.end(daemon);
      await this.evaluate(place, status, wallS);
      return code;
    } finally {
      prompt.close();
      client.close();
    }
  }

  private async startDaemon(place: TwinPlace): Promise<Child> {
    const config = path.join(this.runFolder, "surgiclawd.yaml");
    const text = daemonConfig({
      place,
      runFolder: this.runFolder,
      reasoner: this.options.reasoner,
      ...(this.options.calibration === undefined
        ? {}
        : { calibration: path.resolve(this.options.calibration) }),
      operatorTimeoutS: this.operatorTimeoutS() === Number.POSITIVE_INFINITY ? 0 : this.operatorTimeoutS(),
    });
    await writeFile(config, text);
    const file = programFile("service", "daemon", "main.js");
    return this.children.startNode("surgiclawd", file, ["--config", config, "--tied"], {
      log: this.log("surgiclawd-output"),
      tied: true,
    });
  }

  private startWorker(place: TwinPlace): void {
    const worker = path.join(projectRoot, "examples", "reasoner-worker", "worker.py");
    this.voice.say("reasoner: the example worker over ZeroMQ");
    const args = [worker, "--connect", `ipc://${place.folder}/reasoner.sock`];
    this.children.start("reasoner worker", "/usr/bin/python3", args, { log: this.log("worker") });
  }

  private async procedure(client: CommandClient, prompt: OperatorPrompt): Promise<CellStatus> {
    const { voice, options, signal } = this;
    const file = path.join(this.runFolder, "procedure.yaml");
    voice.say(`planning ${options.targets} targets`);
    const plan = { targets: options.targets, file, query: options.query };
    const planned = await client.control("plan", plan, { timeoutS: limits.planS, signal });
    voice.say(planned.detail);
    voice.lines([paint("dim", rationaleNote)]);
    const interactive = process.stdin.isTTY && options.json !== true;
    if (interactive) prompt.open();
    return follow(
      client,
      async () => {
        const started = await client.control(
          "start",
          { procedure: file, query: options.query },
          { timeoutS: 30 },
        );
        voice.say(`${started.detail}; recording ${started.recording}`);
      },
      {
        signal,
        operatorTimeoutS: this.operatorTimeoutS(),
        onEvent: (item) => {
          voice.event(item);
          if (item.topic === "state")
            prompt.hint(item.event.procedure === "waiting_operator" || item.event.procedure === "stopped");
        },
      },
    );
  }

  /** The evaluator alone may ask the twin for its truth. */
  private async evaluate(place: TwinPlace, status: CellStatus, wallS: number): Promise<void> {
    const { options, voice } = this;
    const summary = path.resolve(options.summary ?? path.join(this.runFolder, "summary.json"));
    const args = [
      ...["--truth", twinSockets(place.folder).truth],
      ...["--recording", status.recording ?? this.runFolder],
      ...["--wall-s", wallS.toFixed(1)],
      ...["--summary", summary],
    ];
    const file = programFile("lab", "evaluation", "main.js");
    const evaluator = this.children.startNode("evaluator", file, args, { log: this.log("evaluator") });
    const written = async (): Promise<true | undefined> =>
      Promise.race([evaluator.ended.then((code) => (code === 0 ? (true as const) : undefined)), after(0.2)]);
    await this.children.until(evaluator, written, limits.evaluateS, this.signal);
    const result = await readSummary(summary);
    if (options.json === true) printJson(result);
    voice.lines(["", ...summaryLines(result), `summary    ${summary}`, `recording  ${result.recording}`]);
  }

  private async keep(client: CommandClient): Promise<void> {
    this.voice.say(`kept running until Ctrl-C: SURGICLAW_ENDPOINT=${client.endpoint} npx surgiclaw status`);
    await new Promise<void>((resolve) => {
      if (this.signal.aborted) resolve();
      else this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** A person at a terminal is waited for; without one the wait is short. */
  private operatorTimeoutS(): number {
    return this.options.operatorTimeout ?? (process.stdin.isTTY ? Number.POSITIVE_INFINITY : 10);
  }

  private log(name: string): string {
    return path.join(this.runFolder, `${name}.log`);
  }
}

async function after(durationS: number): Promise<undefined> {
  await systemClock.sleep(durationS);
  return undefined;
}

export function addDemo(program: Command): void {
  program
    .command("demo")
    .description("run twin and daemon together through one whole implantation, and measure what was reached")
    .option("--seed <number>", "draws the true cell and scene of the twin", wholeNumber, 7)
    .option("--scenario <name>", "default, hard, needle-broken, or the path of a scenario file", "default")
    .option("--targets <count>", "electrodes to implant", wholeNumber, 3)
    .addOption(
      new Option("--reasoner <kind>", "who proposes skills").choices(["rules", "zmq"]).default("rules"),
    )
    .option("--query <text>", "what the operator asks for", "Implant all planned electrodes.")
    .option("--calibration <file>", "a calibration measured on the twin of this seed (default: the drawing)")
    .option("--summary <file>", "where the evaluator writes its JSON summary (default: in the run's folder)")
    .option(
      "--operator-timeout <seconds>",
      "longest wait for an operator (default: for ever at a terminal, else 10)",
      wholeNumber,
    )
    .option("--keep", "leave twin and daemon running at the end, until Ctrl-C")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExit codes: 0 completed, 3 waits for an operator (also after a stop), 1 failed, 4 twin or daemon did not start,\n" +
        "130 interrupted.\n\nExample: npx surgiclaw demo --seed 7 --summary summary.json",
    )
    .action(
      guarded<[DemoOptions]>(
        (options) => options.json === true,
        async (options) => {
          process.exitCode = await new Demo(options).run();
        },
      ),
    );
}
