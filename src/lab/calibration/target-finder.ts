/** Finds calibration targets through opencv4nodejs, which works in a process of its own. */
import { fork, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { withDeadline } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { projectRoot } from "../../base/paths.js";
import type { TargetFile } from "../../base/target-file.js";
import type { Picture } from "./target-edges.js";
import type { FoundTarget } from "./target-pattern.js";

export interface FindRequest {
  readonly id: number;
  readonly picture: Picture;
  readonly columns: number;
  readonly rows: number;
}
/** Id 0 says that the process is ready. */
export interface FindReply {
  readonly id: number;
  readonly target?: FoundTarget;
  readonly failure?: string;
}

const folder = path.join(projectRoot, "build", "opencv4nodejs");
const library = path.join(
  folder,
  "node_modules",
  "@u4",
  "opencv4nodejs",
  "build",
  "Release",
  "opencv4nodejs.node",
);
const program = path.join(path.dirname(fileURLToPath(import.meta.url)), "target-finder-main.js");
const startLimitS = 30;
const findLimitS = 60;

/** Why opencv4nodejs is not there; undefined when it is. */
export function withoutSolvers(): string | undefined {
  if (existsSync(library)) return undefined;
  const reason = path.join(folder, ".absent");
  return existsSync(reason) ? readFileSync(reason, "utf8").trim() : "it was never built";
}

/** Where the compiled library lies. @throws CellError CALIBRATION_REFUSED when it is not built, saying why and what to do */
export function solverLibrary(): string {
  const why = withoutSolvers();
  if (why !== undefined)
    throw new CellError(
      "CALIBRATION_REFUSED",
      `opencv4nodejs, which finds the target, is not built: ${why}`,
      {
        remedy:
          "`bash scripts/build-opencv4nodejs.sh` builds it in some minutes; `npm run setup` does it, too",
      },
    );
  return library;
}

export class TargetFinder {
  private child: ChildProcess | undefined;
  private last = 0;
  private readonly waiting = new Map<number, (reply: FindReply) => void>();

  constructor(private readonly target: Pick<TargetFile, "columns" | "rows">) {}

  /** @throws CellError CALIBRATION_REFUSED when opencv4nodejs is not built; LINK_TIMEOUT */
  async open(): Promise<void> {
    const file = solverLibrary();
    const child = fork(program, [file], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.child = child;
    const ready = this.reply(0);
    child.on("message", (reply: FindReply) => {
      this.waiting.get(reply.id)?.(reply);
      this.waiting.delete(reply.id);
    });
    child.on("exit", (code) => {
      this.child = undefined;
      for (const settle of this.waiting.values())
        settle({ id: -1, failure: `the search ended with ${code}` });
      this.waiting.clear();
    });
    const { failure } = await withDeadline(ready, startLimitS, "the search for targets");
    if (failure !== undefined) throw new CellError("INTERNAL", `opencv4nodejs cannot be loaded: ${failure}`);
  }

  private async reply(id: number): Promise<FindReply> {
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  /** The pixels are copied before this returns. @throws CellError LINK_TIMEOUT, INTERNAL */
  async find(picture: Picture): Promise<FoundTarget> {
    const { child, target } = this;
    if (child === undefined) throw new CellError("INTERNAL", "the search for targets does not run");
    const id = ++this.last;
    const reply = this.reply(id);
    const { columns, rows } = target;
    child.send({ id, picture, columns, rows } satisfies FindRequest);
    const { target: found, failure } = await withDeadline(reply, findLimitS, "the search for a target");
    if (found === undefined) throw new CellError("INTERNAL", failure ?? "the search gave nothing");
    return found;
  }

  /** Ends the process, also in the middle of a search. */
  close(): void {
    this.child?.kill();
    this.child = undefined;
  }
}
