/**
 * A twin and a daemon as processes of their own, on free addresses and in a folder of their own, for tests of whole
 * procedures. What is judged comes from the twin's truth and from the record, never from the daemon's word.
 */
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Test } from "tap";
import { parse, stringify } from "yaml";
import { monotonicNow, systemClock } from "../../src/base/clock.js";
import { projectRoot } from "../../src/base/paths.js";
import { Children, programFile, tail, type Child } from "../../src/cli/shared/children.js";
import { untilReady } from "../../src/cli/shared/daemon-program.js";
import { choosePlace, daemonConfig, twinSockets, type TwinPlace } from "../../src/cli/shared/twin-place.js";
import { startTwin } from "../../src/cli/shared/twin-program.js";
import { readGuardianLog, type GuardianLine } from "../../src/lab/evaluation/guardian-log.js";
import { TruthClient, type TruthMotion } from "../../src/lab/evaluation/truth-client.js";
import type { AuditEntry } from "../../src/record/audit-entry.js";
import { readAuditLog } from "../../src/record/audit-verify.js";
import { CommandClient, subscribe } from "../../src/service/command/client.js";
import type { CellEvent, CellStatus, CycleEvent, SkillEvent } from "../../src/service/command/protocol.js";

export type Tap = Test;

/** Long waits: machines under load are slow, and every wait ends as soon as what is waited for is there. */
export const patience = { startS: 90, planS: 150, registrationS: 150, insertS: 240, stopS: 20 } as const;

export const seed = 7;

export interface HarnessOptions {
  readonly seed?: number;
  /** Name or path. */
  readonly scenario?: string;
  /** Changes the daemon's configuration before it is written; keys in SI or as the file names them. */
  readonly change?: (config: DaemonFile) => void;
  readonly reasoner?: "rules" | "zmq";
  /** Arguments for Node itself when it runs the daemon. */
  readonly nodeArguments?: readonly string[];
}

/** The parts of a configuration file that tests change. */
export interface DaemonFile {
  cell: Record<string, unknown>;
  calibration: { file: string };
  devices: {
    arm: Record<string, unknown>;
    stages: Record<string, unknown>;
    needle: Record<string, unknown>;
    microscopes: Record<string, unknown>[];
    guardian?: Record<string, unknown>;
  };
  reasoner: Record<string, unknown>;
  loop: Record<string, unknown>;
  [key: string]: unknown;
}

/** From these states a procedure does not go on by itself. */
const givenUp: ReadonlySet<string> = new Set(["stopped", "waiting_operator", "failed"]);

/** When an event happened, monotonic s. */
export const atS = ({ topic, event }: CellEvent): number => (topic === "state" ? NaN : event.atS);

/** Every recording below a folder, in the order of their making, joined; each must verify. */
export async function recordsIn(folder: string): Promise<{
  readonly entries: readonly AuditEntry[];
  readonly faults: readonly string[];
  readonly files: readonly string[];
}> {
  const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const entries: AuditEntry[] = [];
  const faults: string[] = [];
  const files: string[] = [];
  for (const { name } of names.sort((a, b) => a.name.localeCompare(b.name))) {
    const file = path.join(folder, name, "audit.jsonl");
    const reading = await readAuditLog(file);
    if (!reading.ok) faults.push(`${name}: ${reading.why}`);
    entries.push(...reading.good);
    files.push(file);
  }
  return { entries, faults, files };
}

export class CellHarness {
  readonly events: CellEvent[] = [];
  daemon: Child | undefined;
  private readonly children = new Children();
  private readonly ending = new AbortController();
  private client: CommandClient | undefined;
  private truthClient: TruthClient | undefined;
  private changed: (() => void)[] = [];
  private daemons = 0;

  private constructor(
    readonly place: TwinPlace,
    /** Recordings, configuration and logs. */
    readonly folder: string,
    private readonly options: HarnessOptions,
  ) {}

  /** Starts the twin; `startDaemon` starts the other half. Everything ends with the test. */
  static async start(test: Tap, options: HarnessOptions = {}): Promise<CellHarness> {
    const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-e2e-"));
    const harness = new CellHarness(await choosePlace(), folder, options);
    test.teardown(() => harness.close(test));
    const choice = { seed: options.seed ?? seed, scenario: options.scenario ?? "default" };
    test.comment(`seed ${choice.seed}, scenario ${choice.scenario}, ${folder}`);
    await startTwin(
      harness.children,
      harness.place,
      choice,
      path.join(folder, "twin.log"),
      harness.ending.signal,
    );
    return harness;
  }

  /** The daemon's configuration for this twin, as an object. */
  config(): DaemonFile {
    const text = daemonConfig({
      place: this.place,
      runFolder: this.folder,
      reasoner: this.options.reasoner ?? "rules",
      operatorTimeoutS: 0,
    });
    const config = parse(text) as DaemonFile;
    this.options.change?.(config);
    return config;
  }

  async writeConfig(config: DaemonFile, name = "surgiclawd.yaml"): Promise<string> {
    const file = path.join(this.folder, name);
    await writeFile(file, stringify(config));
    return file;
  }

  /** Starts a program of ours that is expected to run on. */
  startProgram(name: string, command: string, args: readonly string[]): Child {
    return this.children.start(name, command, args, { log: path.join(this.folder, `${name}.log`) });
  }

  /** Ends a program in good order; resolves with its exit code. */
  endProgram(child: Child): Promise<number> {
    return this.children.end(child);
  }

  /** Starts the daemon and resolves when it is ready. */
  async startDaemon(): Promise<void> {
    const daemon = this.spawnDaemon(await this.writeConfig(this.config()));
    const client = new CommandClient(`ipc://${this.place.folder}/command.sock`, "end-to-end test");
    this.client?.close();
    this.client = client;
    await untilReady(this.children, daemon, client, patience.startS, this.ending.signal);
    const { events } = await client.call("describe", {});
    void this.read(events);
    // A subscription takes a moment to reach the publisher.
    await systemClock.sleep(0.3);
  }

  spawnDaemon(config: string, ...extra: string[]): Child {
    this.daemons++;
    const file = programFile("service", "daemon", "main.js");
    const args = [...(this.options.nodeArguments ?? []), file, "--config", config, "--tied", ...extra];
    const log = path.join(this.folder, `surgiclawd-output-${this.daemons}.log`);
    this.daemon = this.children.start("surgiclawd", process.execPath, args, { log, tied: true });
    return this.daemon;
  }

  /** What the present daemon wrote to its standard output and error. */
  output(): string {
    return this.daemon === undefined ? "" : tail(this.daemon.log, 10_000);
  }

  private async read(events: string): Promise<void> {
    for await (const event of subscribe(events, ["cycle", "skill", "state"], this.ending.signal)) {
      this.events.push(event);
      this.changed.splice(0).forEach((wake) => wake());
    }
  }

  get command(): CommandClient {
    if (this.client === undefined) throw new Error("the daemon was not started");
    return this.client;
  }

  get truth(): TruthClient {
    this.truthClient ??= new TruthClient(twinSockets(this.place.folder).truth);
    return this.truthClient;
  }

  status(): Promise<CellStatus> {
    return this.command.call("status", {}, { timeoutS: 15 });
  }

  /** Plans a procedure and returns its file. */
  async plan(targets: number): Promise<string> {
    const file = path.join(this.folder, `procedure-${this.daemons}.yaml`);
    await this.command.control("plan", { targets, file }, { timeoutS: patience.planS });
    return file;
  }

  /** Starts a procedure; returns the folder of its recording. */
  async begin(procedure: string): Promise<string> {
    const query = "Implant all planned electrodes.";
    return (await this.command.control("start", { procedure, query }, { timeoutS: 30 })).recording;
  }

  /** Index of the next event, to wait for events from here on. */
  mark(): number {
    return this.events.length;
  }

  /**
   * The first event since `from` that satisfies `wanted`.
   * @throws at the deadline, and when a person is asked before it came; with what came instead
   */
  async until(
    wanted: (event: CellEvent) => boolean,
    what: string,
    limitS: number,
    from = 0,
  ): Promise<CellEvent> {
    const untilS = monotonicNow() + limitS;
    for (let index = from; ; index++) {
      while (index >= this.events.length) {
        const leftS = untilS - monotonicNow();
        if (leftS <= 0) throw new Error(`waited in vain for ${what}; ${this.lastWords()}`);
        await this.nextEvent(Math.min(leftS, 1));
      }
      const event = this.events[index];
      if (event === undefined) continue;
      if (wanted(event)) return event;
      if (event.topic === "state" && givenUp.has(event.event.procedure))
        throw new Error(`${what} will not come: ${event.event.procedure}: ${event.event.reason}`);
    }
  }

  stage(name: string, limitS: number, from = 0): Promise<CellEvent> {
    return this.until(
      ({ topic, event }) => topic === "skill" && event.phase === "stage" && event.name === name,
      `the stage "${name}"`,
      limitS,
      from,
    );
  }

  skillEnded(skill: string, limitS: number, from = 0): Promise<CellEvent> {
    return this.until(
      ({ topic, event }) => topic === "skill" && event.phase === "ended" && event.skill === skill,
      `the end of ${skill}`,
      limitS,
      from,
    );
  }

  cycles(from = 0): CycleEvent[] {
    return this.events.slice(from).flatMap((item) => (item.topic === "cycle" ? [item.event] : []));
  }

  skills(from = 0): SkillEvent[] {
    return this.events.slice(from).flatMap((item) => (item.topic === "skill" ? [item.event] : []));
  }

  /** Waits, asking often, until `test` gives a value. */
  async poll<T>(test: () => Promise<T | undefined>, what: string, limitS: number): Promise<T> {
    const untilS = monotonicNow() + limitS;
    for (;;) {
      const value = await test();
      if (value !== undefined) return value;
      if (monotonicNow() > untilS) throw new Error(`waited in vain for ${what}; ${this.lastWords()}`);
      await systemClock.sleep(0.005);
    }
  }

  /** Waits until a device of this kind is in motion since `sinceS`. */
  moving(device: TruthMotion["device"], sinceS: number, limitS: number): Promise<TruthMotion> {
    return this.poll(
      async () =>
        (await this.truth.motions()).find(
          (motion) => motion.device === device && motion.startS > sinceS && motion.endS === undefined,
        ),
      `a motion of ${device}`,
      limitS,
    );
  }

  /** Waits until nothing moves any more; returns all motions. */
  async atRest(limitS: number): Promise<readonly TruthMotion[]> {
    return this.poll(
      async () => {
        const motions = await this.truth.motions();
        return motions.every(({ endS }) => endS !== undefined) ? motions : undefined;
      },
      "rest",
      limitS,
    );
  }

  /** SIGKILL; resolves with the moment just before it, monotonic s. */
  async killDaemon(): Promise<number> {
    const atS = monotonicNow();
    this.daemon?.process.kill("SIGKILL");
    await this.daemon?.ended;
    return atS;
  }

  guardianLog(): Promise<readonly GuardianLine[]> {
    return readGuardianLog(path.join(this.folder, "guardian.log"));
  }

  records(): ReturnType<typeof recordsIn> {
    return recordsIn(this.folder);
  }

  private nextEvent(limitS: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limitS * 1e3);
      this.changed.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private lastWords(): string {
    const events = this.events.slice(-4).map((item) => JSON.stringify(item).slice(0, 300));
    return `the last events: ${events.join("\n")}\n${this.output().slice(-1500)}`;
  }

  private async close(test: Tap): Promise<void> {
    this.ending.abort(new Error("the test has ended"));
    this.client?.close();
    this.truthClient?.close();
    await this.children.endAll();
    await rm(this.place.folder, { recursive: true, force: true });
    if (test.passing()) await rm(this.folder, { recursive: true, force: true });
    else await keepForReading(this.folder);
  }
}

/** What a failed test leaves for reading. */
async function keepForReading(folder: string): Promise<void> {
  const kept = path.join(projectRoot, "runs", path.basename(folder));
  await mkdir(path.dirname(kept), { recursive: true });
  await cp(folder, kept, { recursive: true });
  await rm(folder, { recursive: true, force: true });
}
