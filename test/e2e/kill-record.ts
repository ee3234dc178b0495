/**
 * What a kill campaign leaves for reading: a folder with one JSON file a run, and a line that sums up. A campaign that was
 * broken off goes on at its next run, with the same seed.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { TruthMotion } from "../../src/lab/evaluation/truth-client.js";
import { earlyS, type KillRun } from "./kill-plan.js";

/** A motion that was under way when it happened, or began later: when it came to rest, s after that moment. */
export interface Rest {
  readonly device: TruthMotion["device"];
  readonly axis: number;
  readonly afterS: number;
}

export interface KillResult extends KillRun {
  /** Which of the campaign's twins, and whether the daemon of the run before went on. */
  readonly twin: number;
  readonly sameDaemon: boolean;
  /** How long the procedure had run when it happened, its parts before resets included, s. */
  readonly intoS: number;
  /** The procedure's state when it happened. */
  readonly procedure: string;
  /** Where no one stops it but guardian and arm; empty where the daemon lived and decided itself. */
  readonly rest: readonly Rest[];
  readonly motions: number;
  readonly entries: number;
  /** What the checker found: motions too long, logs that do not verify, motions that nothing explains. Empty when all is well. */
  readonly violations: readonly string[];
  /** How long its parts took, s. */
  readonly seconds: Readonly<Record<string, number>>;
}

export interface Campaign {
  readonly seed: number;
  readonly first: number;
  readonly last: number;
}

export class KillRecord {
  private readonly results: KillResult[] = [];

  /** @param folder undefined: nothing is kept */
  constructor(
    private readonly folder: string | undefined,
    private readonly campaign: Campaign,
  ) {}

  async add(result: KillResult): Promise<void> {
    this.results.push(result);
    await this.write(`run-${String(result.number).padStart(3, "0")}.json`, `${JSON.stringify(result)}\n`);
    // After every run, so that a campaign that is broken off says how far it got.
    await this.write("summary.txt", `${this.summary()}\n`);
  }

  /** One line: seed, how many runs of how many, what they were, what was found, and the slowest to come to rest. */
  summary(): string {
    const { seed, first, last } = this.campaign;
    const { results } = this;
    const bad = results.filter(({ violations }) => violations.length > 0);
    const count = (of: (result: KillResult) => string): string =>
      [...new Set(results.map(of))]
        .map((name) => `${name} ${results.filter((result) => of(result) === name).length}`)
        .join(", ");
    const slowest = (["stage", "needle", "arm"] as const).flatMap((device) => {
      const rest = results.flatMap((result) => result.rest).filter((entry) => entry.device === device);
      return rest.length === 0
        ? []
        : [`${device} ${Math.max(...rest.map(({ afterS }) => afterS)).toFixed(3)} s`];
    });
    const numbers = bad.map(({ number }) => number).join(", ");
    return (
      `kill campaign, seed ${seed}: ${results.length} of runs ${first} to ${last}; ` +
      `${bad.length === 0 ? "no violation" : `VIOLATIONS in ${bad.length} runs (${numbers})`}; ` +
      `${count(({ kind }) => kind)}; ${count(({ intoS }) => (intoS < earlyS ? "early" : "late"))}; ` +
      `procedures: ${count(({ procedure }) => procedure)}; ` +
      `slowest to rest: ${slowest.length === 0 ? "nothing moved" : slowest.join(", ")}`
    );
  }

  private async write(name: string, text: string): Promise<void> {
    if (this.folder === undefined) return;
    await mkdir(this.folder, { recursive: true });
    await writeFile(path.join(this.folder, name), text);
  }
}
