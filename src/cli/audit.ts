/** surgiclaw audit verify FILE */
import { stat } from "node:fs/promises";
import path from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { CellError } from "../base/errors.js";
import { verifyAuditLog, type AuditCheckpoint } from "../record/audit-verify.js";
import { cliExit } from "./exit-codes.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { paint, print, printJson } from "./shared/output.js";

interface VerifyOptions {
  readonly json?: boolean;
  readonly checkpoint?: AuditCheckpoint;
}

/** `SEQ:HASH` as noted from an earlier verification. */
function checkpoint(text: string): AuditCheckpoint {
  const match = /^(\d+):([0-9a-f]{64})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new InvalidArgumentError("SEQ:HASH, as printed by an earlier verification");
  }
  return { seq: Number(match[1]), hash: match[2] };
}

/** A recording's folder stands for the log in it. */
async function logFile(given: string): Promise<string> {
  const found = await stat(given).catch(() => undefined);
  if (found === undefined) {
    throw new CellError("CONFIG_UNREADABLE", `there is no file ${given}`, {
      remedy: "name an audit log, or the folder of a recording",
    });
  }
  return found.isDirectory() ? path.join(given, "audit.jsonl") : given;
}

export function addAudit(program: Command): void {
  const audit = program.command("audit").description("verify the hash-chained audit log of a recording");
  audit
    .command("verify")
    .description("check every entry of an audit log; exit code 6 when the chain is broken")
    .argument("<file>", "audit log, or the folder of a recording")
    .option("--checkpoint <seq:hash>", "a head noted earlier: shows a tail that was cut since", checkpoint)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nThe chain shows a later change. It cannot show that an entry was false when it was written.\n" +
        "\nExample: npx surgiclaw audit verify runs/latest",
    )
    .action(
      guarded<[string, VerifyOptions]>(
        (_, options) => options.json === true,
        async (given, options) => {
          const file = await logFile(given);
          const verdict = await verifyAuditLog(file, options.checkpoint);
          if (!verdict.ok) process.exitCode = cliExit.invalid;
          if (options.json === true) {
            printJson({ file, ...verdict });
            return;
          }
          const word = verdict.ok ? paint("green", "whole") : paint("red", "BROKEN");
          print(`${file}: ${word}, ${verdict.entries} entries verify`);
          if (verdict.why !== "") print(`  ${verdict.why}`);
          if (!verdict.closed) print("  no closing entry: the daemon was ended, or still writes");
          print(`  head ${verdict.entries}:${verdict.head}`);
        },
      ),
    );
}
