/** surgiclaw doctor: is this machine, and the cell of a configuration, fit to work? Reads only; moves nothing. */
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, readFile, statfs } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { loadConfig, type Config } from "../base/config.js";
import { asCellError } from "../base/errors.js";
import { addonPath, programPath, projectRoot } from "../base/paths.js";
import { cellAddon } from "../cell/native.js";
import { cliExit } from "./exit-codes.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { paint, print, printJson } from "./shared/output.js";

/** `advice` is no fault: it works without, only not as well. */
interface Finding {
  readonly check: string;
  readonly result: "ok" | "advice" | "fault";
  readonly detail: string;
}

const run = promisify(execFile);
const finding = (check: string, result: Finding["result"], detail: string): Finding => ({
  check,
  result,
  detail,
});
const fits = (check: string, good: boolean, detail: string): Finding =>
  finding(check, good ? "ok" : "fault", detail);

async function packages(): Promise<Finding> {
  const list = await readFile(path.join(projectRoot, "scripts", "debian-packages.txt"), "utf8");
  const wanted = list
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([section, name]) => (section === "start" && name !== undefined ? [name] : []));
  try {
    const { stdout } = await run("dpkg-query", ["-W", "-f=${db:Status-Status} ${Package}\n"], {
      timeout: 10_000,
    });
    const present = new Set(stdout.split("\n").flatMap((line) => /^installed (\S+)/.exec(line)?.[1] ?? []));
    const missing = wanted.filter((name) => !present.has(name));
    return fits(
      "Debian packages",
      missing.length === 0,
      missing.length === 0 ? `${wanted.length} present` : `missing: ${missing.join(", ")}; run npm run setup`,
    );
  } catch {
    return finding("Debian packages", "advice", "dpkg-query is not here: cannot tell");
  }
}

function node(): Finding {
  const major = Number(process.versions.node.split(".")[0]);
  return fits("Node.js", major >= 20, `version ${process.versions.node}, 20 or newer is needed`);
}

function npmAddons(): Finding[] {
  const load = createRequire(import.meta.url);
  return ["zeromq", "serialport"].map((name) => {
    try {
      load(name);
      return finding(name, "ok", "loads");
    } catch (error) {
      return finding(name, "fault", `does not load: ${asCellError(error).detail}; run npm run setup`);
    }
  });
}

async function nativeParts(): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    cellAddon();
    findings.push(finding("native cell addon", "ok", "loads"));
  } catch (error) {
    findings.push(
      finding("native cell addon", "fault", `${addonPath("cell")}: ${asCellError(error).remedy}`),
    );
  }
  const guardian = programPath("guardian");
  const found = await access(guardian, constants.X_OK).then(
    () => true,
    () => false,
  );
  findings.push(
    fits("guardian", found, found ? guardian : `${guardian} is missing; run npm run build:native`),
  );
  return findings;
}

/** Soft limit of a resource from /proc, NaN when unlimited or unreadable. */
async function limitOf(name: string): Promise<number> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const line = text.split("\n").find((entry) => entry.startsWith(name)) ?? "";
  return Number(/\s(\d+|unlimited)\s/.exec(line.slice(name.length))?.[1]);
}

async function realtime(): Promise<Finding[]> {
  const isRoot = process.getuid?.() === 0;
  const priority = await limitOf("Max realtime priority");
  const locked = await limitOf("Max locked memory");
  const mayFifo = isRoot || priority > 0;
  const mayLock = isRoot || Number.isNaN(locked) || locked >= 64 * 2 ** 20;
  return [
    finding(
      "real-time priority",
      mayFifo ? "ok" : "advice",
      mayFifo ? "permitted" : "not permitted: loops run with normal priority; see systemd/surgiclawd.service",
    ),
    finding(
      "memory lock",
      mayLock ? "ok" : "advice",
      mayLock ? "permitted" : `only ${locked} bytes: rings may be paged out; raise memlock`,
    ),
  ];
}

async function network(): Promise<Finding> {
  const limit = Number(await readFile("/proc/sys/net/core/rmem_max", "utf8").catch(() => "0"));
  const enough = limit >= 4 * 2 ** 20;
  const detail = `net.core.rmem_max is ${limit}`;
  return finding(
    "socket buffers",
    enough ? "ok" : "advice",
    enough ? detail : `${detail}: cameras may lose packets; sysctl -w net.core.rmem_max=8388608`,
  );
}

async function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1000, () => settle(false));
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

async function serialDevice(check: string, file: string): Promise<Finding> {
  const usable = await access(file, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  return fits(check, usable, usable ? file : `${file}: not there, or not yours to use (group dialout)`);
}

/** What the configuration names, looked at without taking a link over. */
async function devices(config: Config): Promise<Finding[]> {
  const { arm, stages, needle, microscopes } = config.devices;
  const tcp = async (check: string, host: string, port: number): Promise<Finding> => {
    const reached = await answers(host, port);
    return fits(check, reached, `${host}:${port} ${reached ? "answers" : "does not answer"}`);
  };
  const reachable = async ({ transport, host, port, path = "" }: typeof stages): Promise<Finding> => {
    if (transport === "serial") return serialDevice("stages", path);
    if (transport === "dialled")
      return finding("stages", "ok", `the controller dials ${host}:${port}; the daemon waits for it there`);
    return tcp("stages", host, port);
  };
  const cameras = microscopes.map(({ name, address }) =>
    finding(`microscope ${name}`, "ok", `configured at ${address}; the daemon opens it`),
  );
  const disk = await statfs(path.dirname(config.record.folder)).catch(() => undefined);
  const free = disk === undefined ? 0 : disk.bavail * disk.bsize;
  const needed = config.record.minFreeBytes;
  return [
    await tcp("arm, data exchange", arm.host, arm.rtdePort),
    await tcp("arm, dashboard", arm.host, arm.dashboardPort),
    await reachable(stages),
    await serialDevice("needle drive", needle.path),
    ...cameras,
    fits("disk", free >= needed, `${Math.round(free / 1e6)} MB free, ${Math.round(needed / 1e6)} MB needed`),
  ];
}

async function examine(config: string | undefined): Promise<Finding[]> {
  const findings = [
    node(),
    await packages(),
    ...npmAddons(),
    ...(await nativeParts()),
    ...(await realtime()),
    await network(),
  ];
  if (config === undefined) return findings;
  try {
    const loaded = await loadConfig(config);
    return [...findings, finding("configuration", "ok", loaded.file), ...(await devices(loaded.config))];
  } catch (error) {
    return [...findings, finding("configuration", "fault", asCellError(error).detail)];
  }
}

const marks = { ok: "green", advice: "yellow", fault: "red" } as const;

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description(
      "check packages, native parts, permissions and, with --config, whether the devices can be reached",
    )
    .option("--config <file>", "also look for the devices of this configuration")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nReads only; nothing moves. Exit code 1 when something is at fault; advice alone is no fault.\n" +
        "\nExample: npx surgiclaw doctor --config surgiclawd.example.yaml",
    )
    .action(
      guarded<[{ readonly config?: string; readonly json?: boolean }]>(
        (options) => options.json === true,
        async (options) => {
          const findings = await examine(options.config);
          if (findings.some((item) => item.result === "fault")) process.exitCode = cliExit.failed;
          if (options.json === true) {
            printJson(findings);
            return;
          }
          for (const { check, result, detail } of findings) {
            print(`${paint(marks[result], result.padEnd(6))}  ${check.padEnd(20)}  ${detail}`);
          }
        },
      ),
    );
}
