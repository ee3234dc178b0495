/**
 * Trials of the controllers on twins of different seeds: each cell gives as many as its cartridge has electrodes. A trial
 * begins with exposure and focus put off, is planned by the daemon as any procedure, stopped in the middle of its registration,
 * begun again and implanted. The judge is a process of its own, the only one that asks for the truth.
 */
import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { monotonicNow, systemClock } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import { Random } from "../../base/random.js";
import {
  trialSchema,
  type JudgementRequest,
  type Trial,
} from "../../lab/evaluation/controllers/controller-trial.js";
import { CommandClient, subscribe } from "../../service/command/client.js";
import type { CellStatus } from "../../service/command/protocol.js";
import { Children, programFile } from "./children.js";
import { clientName } from "./connection.js";
import { untilReady } from "./daemon-program.js";
import { follow } from "./follow.js";
import { callTwin } from "./twin-client.js";
import { choosePlace, daemonConfig, twinSockets, type TwinPlace } from "./twin-place.js";
import { startTwin } from "./twin-program.js";

export interface CampaignOptions {
  readonly trials: number;
  /** Numbers of trials that are known already and not made again. */
  readonly known: ReadonlySet<number>;
  readonly seed: number;
  readonly scenario: string;
  /** Recordings and logs go there. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onTrial: (trial: Trial, tookS: number) => Promise<void>;
  readonly say: (text: string) => void;
}

/** Electrodes in the cartridge of the reference cell. */
const trialsPerCell = 4;

const limits = { readyS: 120, planS: 180, implantS: 400, judgeS: 60 } as const;

const implantQuery = "Implant the planned electrode.";

/** A stop comes this long after the beginning of a registration, s. */
const stopAfterS = { least: 0.5, most: 8 } as const;

/** Exposure off by 1 to 4 stops, focus by 0.1 to 0.5 mm, either way, each view for itself. Pure in seed and trial. */
export function drawDisturbance(seed: number, trial: number): Trial["disturbance"] {
  const random = new Random(seed, `disturbance/${trial}`);
  return {
    exposureStops: [random.signed(1, 4), random.signed(1, 4)],
    focusM: [random.signed(1e-4, 5e-4), random.signed(1e-4, 5e-4)],
  };
}

/** Which trials are still to be made, by the cell that they are made on; a cell whose trials are all known is left out. Pure. */
export function trialsByCell({
  trials,
  known,
  seed,
}: Pick<CampaignOptions, "trials" | "known" | "seed">): { cellSeed: number; numbers: number[] }[] {
  const cells = Array.from({ length: Math.ceil(trials / trialsPerCell) }, (_, k) => ({
    cellSeed: seed + k,
    numbers: Array.from({ length: trialsPerCell }, (_, i) => k * trialsPerCell + i + 1).filter(
      (number) => number <= trials && !known.has(number),
    ),
  }));
  return cells.filter(({ numbers }) => numbers.length > 0);
}

/** Runs the trials in order. A cell that cannot be used any more costs the trials that it had left. */
export async function runCampaign(options: CampaignOptions): Promise<void> {
  for (const { cellSeed, numbers } of trialsByCell(options))
    await new CellOfTrials(cellSeed, options).run(numbers);
}

class CellOfTrials {
  private readonly children = new Children();
  private readonly folder: string;

  constructor(
    private readonly cellSeed: number,
    private readonly options: CampaignOptions,
  ) {
    this.folder = path.join(options.folder, `cell-${cellSeed}`);
  }

  async run(trials: readonly number[]): Promise<void> {
    const { signal, say, scenario } = this.options;
    await mkdir(this.folder, { recursive: true });
    const place = await choosePlace();
    const client = new CommandClient(`ipc://${place.folder}/command.sock`, clientName());
    try {
      say(`cell of seed ${this.cellSeed}: twin and daemon start`);
      const log = path.join(this.folder, "twin.log");
      await startTwin(this.children, place, { seed: this.cellSeed, scenario }, log, signal);
      await this.startDaemon(place, client);
      for (const trial of trials) {
        const began = monotonicNow();
        const request = await this.trial(trial, place, client);
        const judged = await judge(twinSockets(place.folder).truth, request, signal);
        await this.options.onTrial(judged, monotonicNow() - began);
      }
    } finally {
      client.close();
      await this.children.endAll();
      await rm(place.folder, { recursive: true, force: true });
    }
  }

  private async startDaemon(place: TwinPlace, client: CommandClient): Promise<void> {
    const config = path.join(this.folder, "surgiclawd.yaml");
    const given = { place, runFolder: this.folder, reasoner: "rules", operatorTimeoutS: 1 } as const;
    await writeFile(config, daemonConfig(given));
    const daemon = this.children.startNode(
      "surgiclawd",
      programFile("service", "daemon", "main.js"),
      ["--config", config, "--tied"],
      { log: path.join(this.folder, "surgiclawd-output.log"), tied: true },
    );
    await untilReady(this.children, daemon, client, limits.readyS, this.options.signal);
  }

  /** What was done, and when; whatever goes wrong in it is a result. */
  private async trial(trial: number, place: TwinPlace, client: CommandClient): Promise<JudgementRequest> {
    const disturbance = drawDisturbance(this.options.seed, trial);
    const done: { -readonly [K in keyof JudgementRequest]: JudgementRequest[K] } = {
      trial,
      cellSeed: this.cellSeed,
      disturbance,
      planning: null,
      procedure: null,
      stop: null,
      ended: null,
    };
    await this.disturb(place, disturbance);
    const file = path.join(this.folder, `trial-${trial}.yaml`);
    try {
      await this.plan(client, file).finally(async () => {
        done.planning = await recordingOf(client);
      });
      done.stop = await this.stopInMotion(trial, client, file);
      const status = await this.implant(client, file);
      done.procedure = status.recording;
      if (status.procedure !== "completed") done.ended = status.reason;
    } catch (error) {
      const known = asCellError(error);
      if (this.options.signal.aborted) throw known;
      done.ended = known.detail;
    }
    return done;
  }

  private async disturb(place: TwinPlace, disturbance: Trial["disturbance"]): Promise<void> {
    const { control } = twinSockets(place.folder);
    for (const i of [0, 1] as const) {
      const value = (amount: number): string => `${i + 1}:${amount.toFixed(4)}`;
      const stops = value(disturbance.exposureStops[i]);
      await callTwin(control, "fault", { fault: "camera-exposure", target: stops });
      const microns = value(disturbance.focusM[i] * 1e6);
      await callTwin(control, "fault", { fault: "focus-knocked", target: microns });
    }
  }

  private async plan(client: CommandClient, file: string): Promise<void> {
    const { signal } = this.options;
    const request = { targets: 1, file, query: implantQuery };
    await client.control("plan", request, { timeoutS: limits.planS, signal });
  }

  private async implant(client: CommandClient, file: string): Promise<CellStatus> {
    const signal = AbortSignal.any([this.options.signal, AbortSignal.timeout(limits.implantS * 1e3)]);
    const status = await follow(
      client,
      async () => {
        await client.control("start", { procedure: file, query: implantQuery }, { timeoutS: 30 });
      },
      { signal, operatorTimeoutS: 1, onEvent: () => undefined },
    );
    await this.settle(client, status);
    return status;
  }

  /** Begins the procedure, stops it in the middle of its registration, and resets once it must have come to rest. */
  private async stopInMotion(
    trial: number,
    client: CommandClient,
    file: string,
  ): Promise<JudgementRequest["stop"]> {
    const { seed, signal } = this.options;
    const random = new Random(seed, `stop/${trial}`);
    try {
      const { events } = await client.call("describe", {});
      const enough = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
      const moving = registrationBegins(events, enough);
      await systemClock.sleep(0.2, signal);
      await client.control("start", { procedure: file, query: implantQuery }, { timeoutS: 30 });
      await moving;
      await systemClock.sleep(random.uniform(stopAfterS.least, stopAfterS.most), signal);
      const askedS = monotonicNow();
      await client.call("stop", { reason: "trial of the stop" }, { timeoutS: 10 });
      await systemClock.sleep(2, signal);
      const untilS = monotonicNow();
      await this.settle(client, await client.call("status", {}));
      return { askedS, untilS };
    } catch (error) {
      if (signal.aborted) throw error;
      await this.settle(client, await client.call("status", {})).catch(() => undefined);
      return null;
    }
  }

  /** Leaves nothing latched and nothing running, as a person would before the next procedure. */
  private async settle(client: CommandClient, given: CellStatus): Promise<void> {
    let status = given;
    if (["waiting_operator", "takeover"].includes(status.procedure)) {
      await client.call("stop", { reason: "the trial has ended" }, { timeoutS: 10 });
      status = await client.call("status", {});
    }
    const until = monotonicNow() + 30;
    // A loop that waits for a person ends by itself once its wait is over.
    while (!status.possible.includes("start") && monotonicNow() < until) {
      await systemClock.sleep(0.3, this.options.signal);
      status = await client.call("status", {});
    }
    if (status.stopLatched) await client.control("reset", {}, { timeoutS: 40 });
  }
}

const recordingOf = async (client: CommandClient): Promise<string | null> =>
  (await client.call("status", {}).catch(() => undefined))?.recording ?? null;

/** Resolves when the skill of registration begins. @throws CellError LINK_TIMEOUT */
async function registrationBegins(events: string, signal: AbortSignal): Promise<void> {
  for await (const { topic, event } of subscribe(events, ["skill"], signal))
    if (topic === "skill" && event.phase === "stage" && event.name === "clearance") return;
  throw new CellError("LINK_TIMEOUT", "no registration began within a minute");
}

async function judge(truth: string, request: JudgementRequest, signal: AbortSignal): Promise<Trial> {
  const program = programFile("lab", "evaluation", "controllers", "main.js");
  const child = spawn(process.execPath, ["--enable-source-maps", program, "--truth", truth], {
    stdio: ["pipe", "pipe", "pipe"],
    signal: AbortSignal.any([signal, AbortSignal.timeout(limits.judgeS * 1e3)]),
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
  child.stdin.end(JSON.stringify(request));
  const [said, complaints] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (child.exitCode !== 0) throw new CellError("INTERNAL", `the judge failed: ${complaints.trim()}`);
  return trialSchema.parse(JSON.parse(said));
}
