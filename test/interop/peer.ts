/**
 * What every test against a third-party program shares: the program's process, its checks counted as assertions, and the
 * record from which docs/interop.md is made. A peer is a folder of its own here with a `*.test.ts` that calls `peerTest`.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import t, { type Test } from "tap";
import { CellError } from "../../src/base/errors.js";
import { projectRoot } from "../../src/base/paths.js";

export interface PeerDescription {
  /** As its authors call it, with where it comes from: "ur-rtde (PyPI)". */
  readonly peer: string;
  /** Asked of the program or its package when the test runs, never written down. */
  readonly version: () => string;
  /** What of ours it talks to. */
  readonly against: string;
  /** What was exercised, as one sentence without a period. */
  readonly exercised: string;
}

export interface PeerRecord extends Omit<PeerDescription, "version"> {
  readonly version: string;
  readonly checks: number;
}

/** Counts a check of the peer. */
export type Check = (passed: boolean, what: string, details?: object) => void;

/** Runs the checks of one peer as a tap test and records how many there were. */
export function peerTest(description: PeerDescription, body: (t: Test, check: Check) => Promise<void>): void {
  void t.test(`${description.peer} against ${description.against}`, async (t) => {
    const { version, ...rest } = description;
    let checks = 0;
    await body(t, (passed, what, details) => {
      checks++;
      t.ok(passed, what, { ...details });
    });
    t.ok(checks > 0, "something was checked");
    const folder = process.env["SURGICLAW_INTEROP_RECORDS"];
    if (folder === undefined || !t.passing()) return;
    mkdirSync(folder, { recursive: true });
    const record: PeerRecord = { ...rest, version: version(), checks };
    const name = `${description.peer}-${description.against}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(record));
  });
}

/** The interpreter of the private environment that scripts/interop.sh makes. */
export const python = (): string =>
  process.env["SURGICLAW_INTEROP_PYTHON"] ?? path.join(projectRoot, ".venv", "interop", "bin", "python");

/** Version of an installed Python distribution. @throws Error when it is missing */
export const pythonVersion = (distribution: string): string =>
  execFileSync(
    python(),
    ["-c", "import sys,importlib.metadata as m; print(m.version(sys.argv[1]))", distribution],
    { encoding: "utf8" },
  ).trim();

/** Version of an installed Debian package. */
export const debianVersion = (name: string): string =>
  execFileSync("dpkg-query", ["--showformat=${Version}", "--show", name], { encoding: "utf8" }).trim();

export const interopFile = (...parts: string[]): string =>
  path.join(projectRoot, "test", "interop", ...parts);

/**
 * Runs a peer that prints its checks: `ok WHAT` or `not ok WHAT`, one a line, and ends with 0; test/interop/checks.py does
 * so for Python. Everything else that it prints is shown when it fails.
 */
export async function runChecks(
  t: Test,
  check: Check,
  command: readonly [string, ...string[]],
  limitS: number,
): Promise<void> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PYTHONPATH: interopFile(), PYTHONUNBUFFERED: "1", PYTHONDONTWRITEBYTECODE: "1" },
  });
  const other: string[] = [];
  const hear = (line: string): void => {
    const match = /^(not )?ok (.*)$/.exec(line);
    if (match) check(match[1] === undefined, match[2] ?? "");
    else if (other.push(line) > 200) other.shift();
  };
  createInterface({ input: child.stdout }).on("line", hear);
  createInterface({ input: child.stderr }).on("line", hear);
  const timer = setTimeout(() => child.kill("SIGKILL"), limitS * 1e3);
  t.teardown(() => child.kill("SIGKILL"));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error) => {
      reject(
        new CellError("DEVICE_MISSING", `${program} does not start: ${error.message}`, { cause: error }),
      );
    });
    child.once("close", resolve);
  });
  clearTimeout(timer);
  t.equal(code, 0, `${path.basename(args[0] ?? program)} ran to its end within ${limitS} s`, { other });
}
