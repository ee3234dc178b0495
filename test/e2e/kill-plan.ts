/** What is done to a daemon in the kill campaign, and when: drawn from a seed, so that a run can be repeated. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { monotonicNow, systemClock } from "../../src/base/clock.js";
import { Random } from "../../src/base/random.js";
import { callTwin } from "../../src/cli/shared/twin-client.js";
import { twinSockets } from "../../src/cli/shared/twin-place.js";
import type { CellHarness } from "./cell-harness.js";
import { blockLimits, killLimits, type RestLimits } from "./stop-judgement.js";

const run = promisify(execFile);

export const kinds = [
  "kill",
  "terminate",
  "freeze",
  "block",
  "disk-full",
  "arm-lost",
  "stages-lost",
  "camera-lost",
] as const;
export type Kind = (typeof kinds)[number];

/** After these the daemon cannot go on: it is dead, or can record nothing more. */
export const deadly: ReadonlySet<Kind> = new Set(["kill", "terminate", "disk-full"]);

export interface KillRun {
  readonly number: number;
  readonly kind: Kind;
  /** Into the procedure, s. */
  readonly afterS: number;
  /** How long a daemon is held or a camera is away; else how long the daemon is left alone with what happened, s. */
  readonly heldS: number;
}

/** Focus, and registration with its many moves, lie within the first seconds of a procedure. */
export const earlyS = 12;
/** Alignment, pickup and the strokes. */
const longestWaitS = 60;
/**
 * The share of moments that are drawn from the whole procedure. Waiting for them is what a campaign spends its time on; the
 * runs that go on with such a procedure come late in it, too.
 */
const lateShare = 0.15;

/** Kinds in turn from a random beginning, so that few runs see different ones; moments anywhere, the early ones more often. */
export function drawRuns(count: number, seed: number): readonly KillRun[] {
  const random = new Random(seed, "kill campaign");
  const first = Math.floor(random.uniform(0, kinds.length));
  return Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    kind: kinds[(first + index) % kinds.length] ?? "kill",
    afterS: random.uniform(0, random.uniform(0, 1) < lateShare ? longestWaitS : earlyS),
    heldS: random.uniform(0.5, 2.5),
  }));
}

/**
 * How long to wait, s, with a procedure that ran for `ranS` already before a person let it go on: the rest of the way to the
 * moment; where that has passed, as long after the person's word as it would have been an early moment of its own.
 */
export const waitFor = ({ afterS }: KillRun, ranS: number): number =>
  afterS > ranS ? afterS - ranS : afterS % earlyS;

export interface Injected {
  /** The moment from which the daemon, or its device, was gone, monotonic s. */
  readonly atS: number;
  /** Until when everything that moved must rest; undefined where the daemon lives on and decides itself. */
  readonly limits?: RestLimits;
  /** How long a daemon that lives on decides by itself before a person stops it, s. */
  readonly aloneS?: number;
}

/** Does it to the running cell. */
export async function inject(cell: CellHarness, { kind, heldS }: KillRun): Promise<Injected> {
  const pid = cell.daemon?.process.pid ?? 0;
  const fault = async (name: string, target: string | number): Promise<void> => {
    await callTwin(twinSockets(cell.place.folder).control, "fault", { fault: name, target });
  };
  const atS = monotonicNow();
  switch (kind) {
    case "kill":
      return { atS: await cell.killDaemon(), limits: killLimits };
    case "terminate":
      // As a service manager ends it: it stops the cell, then tears down, while the motions are watched.
      process.kill(pid, "SIGTERM");
      return { atS, limits: killLimits };
    case "freeze":
      // Every thread stands, the heart's too: the guardian hears nothing.
      process.kill(pid, "SIGSTOP");
      await systemClock.sleep(heldS);
      process.kill(pid, "SIGCONT");
      return { atS, limits: killLimits };
    case "block":
      process.kill(pid, "SIGUSR2");
      return { atS, limits: blockLimits };
    case "disk-full":
      // No file of the daemon may grow any more: the next entry of the log fails in the middle, as on a full disk.
      await run("prlimit", [`--pid=${pid}`, "--fsize=4096"]);
      return { atS, aloneS: heldS };
    case "arm-lost":
      await fault("link-drop", "arm");
      return { atS, aloneS: heldS };
    case "stages-lost":
      await fault("link-drop", "stages");
      return { atS, aloneS: heldS };
    case "camera-lost":
      await fault("camera-offline", 1);
      await systemClock.sleep(heldS);
      await fault("camera-online", 1);
      return { atS, aloneS: 1 };
  }
}
