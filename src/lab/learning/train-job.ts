/**
 * The process of one learning run: reads its order from the command line, trains, prints a line of JSON at each point of
 * the curve. Ends with 0 when the run is finished; SIGTERM ends it, and the same order goes on from the last point.
 */
import { z } from "zod";
import { asCellError } from "../../base/errors.js";
import { taskVocabulary } from "../phase/task-vocabulary.js";
import { methodNamed } from "./methods.js";
import { settingsSchema } from "./run-file.js";
import { loadSupport } from "./support-columns.js";
import { trainPolicy } from "./training-run.js";
import { createShapedEnvironment } from "./world/shaped-environment.js";
import { createWorldEnvironment } from "./world/world-environment.js";

const orderSchema = z.strictObject({
  settings: settingsSchema,
  support: z.string().optional(),
  folder: z.string(),
});
export type TrainOrder = z.infer<typeof orderSchema>;

async function main(text: string, signal: AbortSignal): Promise<void> {
  const { settings, support: file, folder } = orderSchema.parse(JSON.parse(text));
  const { method } = methodNamed(settings.method);
  const create = method.worlds === "shaped" ? createShapedEnvironment : createWorldEnvironment;
  const collector = await create(settings.task, settings.environments);
  const evaluator = await createWorldEnvironment(settings.task, settings.environments);
  try {
    const content = await loadSupport(file, method, await taskVocabulary(settings.task), evaluator);
    await trainPolicy({
      ...{ settings, collector, evaluator, folder, signal },
      support: file === undefined || content === undefined ? undefined : { path: file, content },
      onPoint: (point) => void process.stdout.write(`${JSON.stringify(point)}\n`),
    });
  } finally {
    collector.close();
    evaluator.close();
  }
}

const abort = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => abort.abort());
try {
  await main(process.argv[2] ?? "", abort.signal);
} catch (error) {
  const { code, detail } = asCellError(error);
  process.stderr.write(`${code}: ${detail}\n`);
  process.exitCode = 1;
}
