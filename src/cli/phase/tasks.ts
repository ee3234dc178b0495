/** surgiclaw phase tasks [TASK] */
import type { Command } from "commander";
import {
  loadVocabularies,
  loadVocabulary,
  rankNames,
  taskVocabulary,
} from "../../lab/phase/task-vocabulary.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson, table } from "../shared/output.js";

interface TasksOptions {
  readonly json?: boolean;
  readonly file?: string;
}

async function tasks(task: string | undefined, options: TasksOptions): Promise<void> {
  if (task === undefined && options.file === undefined) {
    const all = [...(await loadVocabularies()).values()];
    if (options.json === true) {
      printJson(all.map((vocabulary) => ({ ...vocabulary, inferred: vocabulary.origin === "inferred" })));
      return;
    }
    const rows = all.map(({ task: name, origin, role, horizon, supportEpisodes, phases }) => [
      name,
      origin,
      role,
      String(horizon),
      supportEpisodes === undefined ? "-" : String(supportEpisodes),
      phases.map(({ label }) => label).join(", "),
    ]);
    print(table(["task", "origin", "role", "horizon", "support", "phases"], rows));
    return;
  }
  const one =
    options.file === undefined ? await taskVocabulary(task ?? "") : await loadVocabulary(options.file);
  if (options.json === true) {
    printJson({ ...one, inferred: one.origin === "inferred" });
    return;
  }
  print(`${one.task} (${one.origin}): ${one.description}`);
  print(`horizon ${one.horizon} steps, support ${one.supportEpisodes ?? "-"} episodes`);
  const rows = one.phases.map(({ label, rank, rule }) => [String(rank), rankNames[rank] ?? "", label, rule]);
  print(table(["rank", "means", "phase", "rule"], rows));
}

export function addPhaseTasks(phase: Command): void {
  phase
    .command("tasks")
    .description("list the tasks, show one, or check a vocabulary file")
    .argument("[task]", "show this one")
    .option("--file <file>", "check and show a vocabulary file instead")
    .addOption(jsonOption())
    .addHelpText("after", "\nExample: npx surgiclaw phase tasks PegTransfer")
    .action(guarded<[string | undefined, TasksOptions]>((_, options) => options.json === true, tasks));
}
