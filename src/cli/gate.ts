/** surgiclaw gate parse | check: the judgement of a reply from files, without a cell. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { z } from "zod";
import { CellError } from "../base/errors.js";
import { explainIssues, formatProblems } from "../base/yaml-file.js";
import {
  gateCase,
  gateCaseSchema,
  replyMetadata,
  replyMetadataSchema,
} from "../agent/perception/gate-case.js";
import { parseReply } from "../agent/safety/parse-reply.js";
import { judgeReply, type ReplyVerdict } from "../agent/safety/reply-verdict.js";
import { cliExit } from "./exit-codes.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { oneLine, paint, print, printJson } from "./shared/output.js";

interface ParseOptions {
  readonly reply: string;
  readonly json?: boolean;
}

interface CheckOptions extends ParseOptions {
  readonly observation: string;
  readonly meta?: string;
}

/** The bytes as they are; `-` is standard input. */
async function bytesOf(file: string): Promise<Uint8Array> {
  try {
    if (file !== "-") return await readFile(file);
    const parts: Uint8Array[] = [];
    for await (const part of process.stdin) parts.push(part as Uint8Array);
    return Buffer.concat(parts);
  } catch (error) {
    throw new CellError("GATE_CASE_INVALID", `${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** A JSON file that follows its schema, and the same as it was written. @throws CellError GATE_CASE_INVALID */
async function jsonOf<S extends z.ZodType>(
  file: string,
  schema: S,
): Promise<{ readonly value: z.output<S>; readonly given: unknown }> {
  const text = Buffer.from(await bytesOf(file)).toString("utf8");
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new CellError("GATE_CASE_INVALID", `${file} is not JSON: ${(error as Error).message}`);
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return { value: parsed.data, given };
  const problems = formatProblems(file, explainIssues(parsed.error, schema, given));
  throw new CellError("GATE_CASE_INVALID", problems);
}

async function parse(options: ParseOptions): Promise<void> {
  const result = parseReply(await bytesOf(options.reply));
  if (!result.ok) process.exitCode = cliExit.failed;
  const skill = result.ok ? result.proposal.skill : null;
  const code = result.ok ? null : result.reason.code;
  if (options.json === true) {
    printJson({ parsed: result.ok, skill, code, detail: result.ok ? "" : result.reason.detail });
  } else if (result.ok) print(`${paint("green", "well formed")}: ${result.proposal.skill}`);
  else print(`${paint("red", "refused")}: ${result.reason.code} (${oneLine(result.reason.detail)})`);
}

async function check(options: CheckOptions): Promise<void> {
  if (options.reply === "-" && (options.observation === "-" || options.meta === "-"))
    throw new CellError("GATE_CASE_INVALID", "only one file can come from standard input");
  const reply = await bytesOf(options.reply);
  const file = await jsonOf(options.observation, gateCaseSchema);
  const given = gateCase(file.value, file.given);
  const metadata =
    options.meta === undefined
      ? undefined
      : replyMetadata((await jsonOf(options.meta, replyMetadataSchema)).value, given);
  const { nowS, observation, freshState, limits, decided, hashHolds } = given;
  const verdict = judgeReply(nowS, reply, metadata, observation, freshState, limits, {
    alreadyDecided: decided,
  });
  report(hashHolds ? verdict : withoutHash(verdict), options.json === true);
}

const withoutHash = (verdict: ReplyVerdict): ReplyVerdict => ({
  ...verdict,
  allowed: false,
  reasons: [...verdict.reasons, { code: "stale", detail: "the observation does not match its own hash" }],
});

function report({ allowed, skill, reasons, violations }: ReplyVerdict, json: boolean): void {
  if (!allowed) process.exitCode = cliExit.failed;
  if (json) {
    printJson({ verdict: allowed ? "allowed" : "refused", skill, reasons, violations });
    return;
  }
  print(
    `${allowed ? paint("green", "allowed") : paint("red", "refused")}: ${skill ?? "no single legal skill"}`,
  );
  for (const reason of reasons) print(`  ${reason.code}: ${oneLine(reason.detail)}`);
  if (violations.length > 0) print(`  safety violations: ${violations.join(", ")}`);
}

export function addGate(program: Command): void {
  const gate = program.command("gate").description("judge a reply from files, as the daemon would");
  gate
    .command("parse")
    .description("form alone: exit code 0 when the reply names exactly one skill, else 1")
    .requiredOption("--reply <file>", "the reply, byte by byte; - reads standard input")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw gate parse --reply examples/gate/insert.reply --json")
    .action(guarded<[ParseOptions]>((options) => options.json === true, parse));
  gate
    .command("check")
    .description(
      "form, arrival and prerequisites: exit code 0 allowed, 1 refused, 6 when a file must be corrected",
    )
    .requiredOption("--reply <file>", "the reply, byte by byte; - reads standard input")
    .requiredOption("--observation <file>", "observation, state and limits as JSON (docs/gate.md)")
    .option(
      "--meta <file>",
      "how the reply arrived, as JSON; without it only form and prerequisites are judged",
    )
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw gate check --reply examples/gate/insert.reply " +
        "--observation examples/gate/ready-to-insert.json --json",
    )
    .action(guarded<[CheckOptions]>((options) => options.json === true, check));
}
