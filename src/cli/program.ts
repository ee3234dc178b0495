/** All verbs of the command line. One file per verb; each is thin. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { projectRoot } from "../base/paths.js";
import { addAudit } from "./audit.js";
import { addCalibrate } from "./calibrate.js";
import { addCheck } from "./check.js";
import { addChoose } from "./choose.js";
import { addConfig } from "./config.js";
import { addConfirm } from "./confirm.js";
import { addDemo } from "./demo.js";
import { addDoctor } from "./doctor.js";
import { addEvaluate } from "./evaluate.js";
import { addGate } from "./gate.js";
import { addHandback } from "./handback.js";
import { addHome } from "./home.js";
import { addOverride } from "./override.js";
import { addPerceive } from "./perceive.js";
import { addPhase } from "./phase.js";
import { addPolicy } from "./policy.js";
import { addProcedure } from "./procedure.js";
import { addReset } from "./reset.js";
import { addRetry } from "./retry.js";
import { addStart } from "./start.js";
import { addStatus } from "./status.js";
import { addStop } from "./stop.js";
import { addTakeover } from "./takeover.js";
import { addTwin } from "./twin.js";
import { addWatch } from "./watch.js";

function version(): string {
  const text = readFileSync(path.join(projectRoot, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Every command and its subcommands, so that each ends with our exit code for bad usage. */
function settle(command: Command): void {
  command.exitOverride().showHelpAfterError("(--help shows how)");
  command.commands.forEach(settle);
}

export function createProgram(): Command {
  const program = new Command("surgiclaw")
    .description("Controller of a micromanipulation cell: observe, reason, verify, execute.")
    .version(version())
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 refused or failed, 2 usage, 3 waits for an operator, 4 no daemon answers, 5 a stop is latched,\n" +
        "6 a file must be corrected, 130 interrupted.\n" +
        "\nExample: npx surgiclaw demo --seed 7",
    );
  const verbs = [
    ...[addStart, addStatus, addWatch, addStop, addReset, addConfirm, addRetry, addChoose, addTakeover],
    ...[
      addHandback,
      addHome,
      addProcedure,
      addPerceive,
      addConfig,
      addAudit,
      addDoctor,
      addCalibrate,
      addCheck,
      addTwin,
      addDemo,
      addEvaluate,
      addGate,
      addOverride,
      addPhase,
      addPolicy,
    ],
  ];
  for (const add of verbs) add(program);
  settle(program);
  return program;
}
