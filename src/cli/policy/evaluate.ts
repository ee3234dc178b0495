/** surgiclaw policy evaluate POLICY */
import { stat } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { CellError } from "../../base/errors.js";
import { wilson } from "../../lab/evaluation/statistics.js";
import { evaluatePolicy } from "../../lab/learning/evaluate-policy.js";
import { policyActions, readPolicy } from "../../lab/learning/policy-file.js";
import { createWorldEnvironment } from "../../lab/learning/world/world-environment.js";
import { wholeNumber } from "../procedure.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson } from "../shared/output.js";

interface EvaluateOptions {
  readonly episodes: number;
  readonly seed: number;
  readonly json?: boolean;
}

/** Worlds that step together; episodes are rounded up to a multiple. */
const worlds = 8;

async function evaluate(place: string, options: EvaluateOptions): Promise<void> {
  const isFolder = await stat(place).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  const file = isFolder ? path.join(place, "policy.json") : place;
  const policy = await readPolicy(file);
  const environment = await createWorldEnvironment(policy.task, worlds);
  try {
    const { observationSize, actionSize } = environment;
    if (policy.observationSize !== observationSize || policy.actionSize !== actionSize) {
      throw new CellError(
        "PHASE_FILE_FOREIGN",
        `${file} was trained on ${policy.observationSize} observed values and ${policy.actionSize} of action, ${policy.task} has ${observationSize} and ${actionSize}`,
      );
    }
    const { successes, episodes, meanReturn } = evaluatePolicy(
      environment,
      (observations, actions) => policyActions(policy, observations, actions),
      Math.ceil(options.episodes / worlds) * worlds,
      options.seed,
    );
    const success = wilson(successes, episodes);
    if (options.json === true) {
      printJson({ file, task: policy.task, run: policy.run, seed: options.seed, success, meanReturn });
      return;
    }
    const [low, high] = success.interval ?? [0, 1];
    print(
      `${policy.task}: ${successes} of ${episodes} episodes (${((100 * successes) / episodes).toFixed(1)} %, 95 % interval ${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`,
    );
  } finally {
    environment.close();
  }
}

export function addPolicyEvaluate(policy: Command): void {
  policy
    .command("evaluate")
    .description("episodes of a trained policy in new worlds, with its deterministic action")
    .argument("<policy>", "policy.json, or the folder of a run")
    .option("--episodes <n>", "how many", wholeNumber, 200)
    .option("--seed <n>", "of the worlds; training never uses this one", wholeNumber, 1_000_003)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw policy evaluate runs/policy/BlockPick-oracle-1-0123456789",
    )
    .action(guarded<[string, EvaluateOptions]>((_, options) => options.json === true, evaluate));
}
