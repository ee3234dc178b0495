/** surgiclaw audit verify | explain | follow */
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { asCellError, CellError } from "../base/errors.js";
import { auditStory, type StoryImage } from "../agent/loop/audit-story.js";
import {
  readAuditLog,
  verifyAuditLog,
  type AuditCheckpoint,
  type AuditVerdict,
} from "../record/audit-verify.js";
import { appendCheckpoint, checkpointFault, readCheckpoints, type Checkpoint } from "../record/checkpoint.js";
import { checkpointKeyFile, checkpointsFile } from "../record/checkpoint-keeper.js";
import { subscribe } from "../service/command/client.js";
import { cliExit } from "./exit-codes.js";
import {
  guarded,
  jsonOption,
  withClient,
  withConnection,
  type ConnectionOptions,
} from "./shared/connection.js";
import { interruptSignal } from "./shared/follow.js";
import { paint, print, printJson } from "./shared/output.js";
import { storyHtml } from "./shared/story-html.js";
import { storyText } from "./shared/story-text.js";

interface VerifyOptions {
  readonly json?: boolean;
  readonly checkpoint?: AuditCheckpoint;
  readonly checkpoints?: string;
  readonly key?: string;
}

interface ExplainOptions {
  readonly json?: boolean;
  readonly html?: string | true;
}

/** `SEQ:HASH` as noted from an earlier verification. */
function checkpoint(text: string): AuditCheckpoint {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new InvalidArgumentError("SEQ:HASH, as printed by an earlier verification");
  }
  return { seq: Number(match[1]), hash: match[2] };
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

/** A recording's folder stands for the log in it, a folder of recordings for its newest. */
async function logFile(given: string): Promise<string> {
  const found = await stat(given).catch(() => undefined);
  if (found === undefined) {
    throw new CellError("CONFIG_UNREADABLE", `there is no file ${given}`, {
      remedy: "name an audit log, or the folder of a recording",
    });
  }
  if (!found.isDirectory()) return given;
  const folders = [
    given,
    ...(await readdir(given))
      .sort()
      .reverse()
      .map((name) => path.join(given, name)),
  ];
  for (const folder of folders) {
    const file = path.join(folder, "audit.jsonl");
    if (await isThere(file)) return file;
  }
  throw new CellError("CONFIG_UNREADABLE", `${given} holds no recording`, {
    remedy: "name an audit log, or the folder of a recording",
  });
}

interface Compared extends AuditVerdict {
  /** The newest signed checkpoint that the log was compared with. */
  readonly checkpoint: Pick<Checkpoint, "seq" | "wall" | "keyId"> | null;
}

/** Verifies a log against every checkpoint of it that there is: named ones, else those beside it. */
async function verify(file: string, options: VerifyOptions): Promise<Compared> {
  const beside = (name: string): string => path.join(path.dirname(file), name);
  const named = options.checkpoints ?? beside(checkpointsFile);
  const keyFile = options.key ?? beside(checkpointKeyFile);
  const noted = options.checkpoint === undefined ? [] : [options.checkpoint];
  const withKeys = options.checkpoints !== undefined || options.key !== undefined;
  if (!withKeys && !((await isThere(named)) && (await isThere(keyFile))))
    return { ...(await verifyAuditLog(file, ...noted)), checkpoint: null };
  const key = await text(keyFile, "the public key of the cell");
  const first = (await readAuditLog(file)).good[0];
  const all = await readCheckpoints(named).catch((error: unknown) => {
    if (asCellError(error).code === "AUDIT_BROKEN") throw error;
    throw new CellError("CONFIG_UNREADABLE", `${named} cannot be read`, { cause: error });
  });
  // One file may hold the checkpoints of many chains.
  const own = all.filter(({ stream }) => first === undefined || stream === first.stream);
  for (const item of own) {
    const fault = checkpointFault(item, key);
    if (fault === undefined) continue;
    const verdict = await verifyAuditLog(file, ...noted);
    if (!verdict.ok) return { ...verdict, checkpoint: null };
    const why = `the checkpoint of entry ${item.seq} proves nothing: ${fault}`;
    return { ...verdict, ok: false, firstBad: item.seq, why, checkpoint: null };
  }
  const verdict = await verifyAuditLog(file, ...noted, ...own);
  const newest = own.at(-1);
  const { seq = 0, wall = "", keyId = "" } = newest ?? {};
  return { ...verdict, checkpoint: newest === undefined ? null : { seq, wall, keyId } };
}

async function text(file: string, what: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw new CellError("CONFIG_UNREADABLE", `${what}: ${(error as Error).message}`, { cause: error });
  });
}

function reportVerdict(file: string, verdict: Compared): void {
  const word = verdict.ok ? paint("green", "whole") : paint("red", "BROKEN");
  print(`${file}: ${word}, ${verdict.entries} entries verify`);
  if (verdict.why !== "") print(`  ${verdict.why}`);
  if (!verdict.closed) print("  no closing entry: the daemon was ended, still writes, or a tail was cut");
  if (verdict.checkpoint !== null) {
    const { seq, wall, keyId } = verdict.checkpoint;
    print(`  compared with the signed checkpoint of entry ${seq}, ${wall}, key ${keyId}`);
  }
  print(`  head ${verdict.entries}:${verdict.head}`);
}

async function explain(file: string, options: ExplainOptions): Promise<void> {
  const reading = await readAuditLog(file);
  const story = auditStory(reading.good);
  const verified = reading.ok
    ? `${reading.entries} entries, and every one verifies`
    : `the log does not verify, and the story ends before its first bad entry: ${reading.why}`;
  if (!reading.ok) process.exitCode = cliExit.invalid;
  if (options.html !== undefined) {
    const target = options.html === true ? path.join(path.dirname(file), "story.html") : options.html;
    const pictures = await lookAtPictures(
      file,
      story.items.flatMap((item) => (item.kind === "decision" ? item.images : [])),
    );
    const page = { story, verified, whole: reading.ok, picture: pictures(target) };
    await writeFile(target, storyHtml(page)).catch((error: unknown) => {
      throw new CellError("CONFIG_UNREADABLE", `${target}: ${(error as Error).message}`, { cause: error });
    });
    if (options.json === true) printJson({ file, page: target });
    else print(`${target} written`);
  } else if (options.json === true) printJson({ file, ok: reading.ok, why: reading.why, ...story });
  else {
    print(`${story.stream}: ${verified}`);
    storyText(story).forEach((line) => print(line));
  }
}

/** Which pictures are there and are still what the log says. */
async function lookAtPictures(
  file: string,
  images: readonly StoryImage[],
): Promise<(target: string) => (image: StoryImage) => { href: string } | { missing: string }> {
  const faults = new Map<string, string>();
  for (const image of images) {
    const bytes = await readFile(path.join(path.dirname(file), image.file)).catch(() => undefined);
    if (bytes === undefined) faults.set(image.file, "the file is missing");
    else if (createHash("sha256").update(bytes).digest("hex") !== image.sha256)
      faults.set(image.file, "the file was altered: it does not match the log");
  }
  return (target) => (image) => {
    const missing = faults.get(image.file);
    if (missing !== undefined) return { missing };
    const relative = path.relative(path.dirname(target), path.join(path.dirname(file), image.file));
    return { href: relative.split(path.sep).map(encodeURIComponent).join("/") };
  };
}

/** Writes the checkpoints that a daemon publishes into a file: run it where the daemon's user cannot write. */
async function follow(options: ConnectionOptions & { readonly to: string }): Promise<void> {
  const signal = interruptSignal();
  const { events } = await withClient(options, async (client) => client.call("describe", {}));
  for await (const item of subscribe(events, ["checkpoint"], signal)) {
    if (item.topic !== "checkpoint") continue;
    const { atS: _atS, ...taken } = item.event;
    await appendCheckpoint(options.to, taken);
    if (options.json === true) printJson(taken);
    else print(`${taken.wall}  ${taken.stream}  entry ${taken.seq}`);
  }
}

export function addAudit(program: Command): void {
  const audit = program
    .command("audit")
    .description("verify and tell what the audit log of a recording holds");
  audit
    .command("verify")
    .description("check every entry of an audit log; exit code 6 when the chain is broken")
    .argument("<file>", "audit log, folder of a recording, or folder of recordings (the newest)")
    .option("--checkpoint <seq:hash>", "a head noted earlier: shows a tail that was cut since", checkpoint)
    .option("--checkpoints <file>", "signed checkpoints kept elsewhere; without it those beside the log")
    .option("--key <file>", "public key that signed them; without it the one beside the log")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nThe chain shows a later change. It cannot show that an entry was false when it was written, and a tail that was\n" +
        "cut off cleanly shows only against a checkpoint.\n" +
        "\nExample: npx surgiclaw audit verify runs/latest",
    )
    .action(
      guarded<[string, VerifyOptions]>(
        (_, options) => options.json === true,
        async (given, options) => {
          const file = await logFile(given);
          const verdict = await verify(file, options);
          if (!verdict.ok) process.exitCode = cliExit.invalid;
          if (options.json === true) printJson({ file, ...verdict });
          else reportVerdict(file, verdict);
        },
      ),
    );
  audit
    .command("explain")
    .description("tell the story of a procedure, decision by decision, with its pictures")
    .argument("<file>", "audit log, folder of a recording, or folder of recordings (the newest)")
    .option("--html [file]", "write a page with the pictures; without a name story.html beside the log")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw audit explain runs/latest --html")
    .action(
      guarded<[string, ExplainOptions]>(
        (_, options) => options.json === true,
        async (given, options) => explain(await logFile(given), options),
      ),
    );
  withConnection(audit.command("follow"))
    .description("keep the signed checkpoints that the daemon publishes, until Ctrl-C")
    .requiredOption("--to <file>", "where they are kept; best on another machine")
    .addHelpText("after", "\nExample: npx surgiclaw audit follow --to /mnt/elsewhere/checkpoints.jsonl")
    .action(
      guarded<[ConnectionOptions & { readonly to: string }]>((options) => options.json === true, follow),
    );
}
