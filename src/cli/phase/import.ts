/** surgiclaw phase import FOLDER */
import { Option, type Command } from "commander";
import { CellError } from "../../base/errors.js";
import { loadYaml } from "../../base/yaml-file.js";
import { importTrials } from "../../lab/phase/import/import-trials.js";
import { layouts, type LayoutName } from "../../lab/phase/import/kinematics-table.js";
import { gestureMapSchema } from "../../lab/phase/import/phase-arrivals.js";
import { taskVocabulary } from "../../lab/phase/task-vocabulary.js";
import { wholeNumber } from "../procedure.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, warn } from "../shared/output.js";

interface ImportVerbOptions {
  readonly layout: LayoutName;
  readonly task: string;
  readonly kinematics: string;
  readonly primitives?: string;
  readonly gestures?: string;
  readonly gestureMap?: string;
  readonly stride: number;
  readonly json?: boolean;
}

async function importVerb(folder: string, options: ImportVerbOptions): Promise<void> {
  const { layout, kinematics, primitives, gestures, stride } = options;
  if (stride < 1) throw new CellError("COMMAND_INVALID", "a step holds one row or more");
  const codes = { unreadable: "CONFIG_UNREADABLE", invalid: "PHASE_FILE_INVALID" } as const;
  const map =
    options.gestureMap === undefined
      ? undefined
      : (await loadYaml(options.gestureMap, gestureMapSchema, codes)).value;
  const result = await importTrials(folder, await taskVocabulary(options.task), {
    layout,
    kinematics,
    stride,
    ...(primitives === undefined ? {} : { primitives }),
    ...(gestures === undefined ? {} : { gestures }),
    ...(map === undefined ? {} : { gestureMap: map }),
  });
  const { imported, refused, referenceFile } = result;
  if (options.json === true) {
    printJson({ folder, reference: referenceFile, imported, refused });
    return;
  }
  print(`${folder}: ${imported.length} trials; what was reached: ${referenceFile}`);
  for (const { trial, reason } of refused) warn(`left out ${trial}: ${reason}`);
}

export function addPhaseImport(phase: Command): void {
  phase
    .command("import")
    .description("make a support pool and its reference from recorded kinematics with labels")
    .argument("<pool>", "folder to write")
    .addOption(
      new Option("--layout <name>", "layout of the tables")
        .choices(Object.keys(layouts))
        .makeOptionMandatory(),
    )
    .requiredOption("--task <task>", "task that the trials are attempts of")
    .requiredOption("--kinematics <folder>", "one table a trial")
    .option("--primitives <folder>", "motion primitives, one file a trial of the same name")
    .option("--gestures <folder>", "gestures, one file a trial of the same name")
    .option("--gesture-map <file>", "YAML: which gesture completes which phase")
    .option("--stride <rows>", "rows of the table that make one step", wholeNumber, 1)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase import pools/peg --layout dvrk --task PegTransfer --kinematics kinematics --primitives motion_primitives --stride 10",
    )
    .action(guarded<[string, ImportVerbOptions]>((_, options) => options.json === true, importVerb));
}
