/** surgiclaw policy export RUN --out FILE */
import { createHash } from "node:crypto";
import path from "node:path";
import type { Command } from "commander";
import { onnxInput, onnxModel, onnxOutput } from "../../lab/learning/export/onnx-model.js";
import { readPolicy } from "../../lab/learning/policy-file.js";
import { readRun } from "../../lab/learning/run-file.js";
import { replaceFile } from "../../record/durable-file.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson } from "../shared/output.js";

interface ExportOptions {
  readonly out: string;
  readonly json?: boolean;
}

/** The model, and beside it a card that says what it was trained on and how well it did. */
async function exportPolicy(folder: string, options: ExportOptions): Promise<void> {
  const policy = await readPolicy(path.join(folder, "policy.json"));
  const { settings, support, curve, instructionSet, finished } = await readRun(path.join(folder, "run.json"));
  const model = onnxModel(policy);
  const card = {
    format: "surgiclaw.policy-card/1",
    sha256: createHash("sha256").update(model).digest("hex"),
    task: policy.task,
    run: policy.run,
    input: {
      name: onnxInput,
      shape: [1, policy.observationSize],
      meaning: "state as observed; normalised inside",
    },
    output: {
      name: onnxOutput,
      shape: [1, policy.actionSize],
      meaning: "shares of the largest step of each axis and of the jaw, -1 to 1",
    },
    ...{ settings, support, instructionSet, finished },
    lastPoint: curve.at(-1) ?? null,
  };
  const cardFile = `${options.out}.json`;
  await replaceFile(options.out, model);
  await replaceFile(cardFile, `${JSON.stringify(card, undefined, 1)}\n`);
  if (options.json === true)
    printJson({ file: options.out, card: cardFile, bytes: model.length, sha256: card.sha256 });
  else print(`${options.out}: ${model.length} bytes, sha256 ${card.sha256}\n${cardFile}: its card`);
}

export function addPolicyExport(policy: Command): void {
  policy
    .command("export")
    .description(
      "write a trained policy as an ONNX model with its normalisation inside, and a card beside it",
    )
    .argument("<run>", "folder of a run")
    .requiredOption("--out <file>", "model to write")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw policy export runs/policy/BlockPick-oracle-1-0123456789 --out block-pick.onnx",
    )
    .action(guarded<[string, ExportOptions]>((_, options) => options.json === true, exportPolicy));
}
