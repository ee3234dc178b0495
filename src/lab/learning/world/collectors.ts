/** Who collects, by source: untrained exploration, or policies that were trained on the reward that names the source. */
import { CellError } from "../../../base/errors.js";
import { policyActions, readPolicy, type PolicyFile } from "../policy-file.js";
import { noisyActor, randomActor, type Actor } from "./collect-pool.js";
import { nativeTask } from "./world-environment.js";

export type Source = "shaped" | "sparse" | "random";
export const sources: readonly Source[] = ["shaped", "sparse", "random"];

export interface Collector {
  /** In words, for the pool's note. */
  readonly note: string;
  readonly actorOf: (episode: number) => Actor;
}

/**
 * @param policies files of trained policies; episode after episode they take turns
 * @param noise standard deviation of the normal noise on their actions
 * @throws CellError COMMAND_INVALID when policies do not go with the source, PHASE_FILE_FOREIGN when one is of another task or
 *   was trained by another method, CONFIG_UNREADABLE, PHASE_FILE_INVALID
 */
export async function collectorOf(
  task: string,
  source: Source,
  policies: readonly string[],
  noise: number,
  seed: number,
): Promise<Collector> {
  if (source === "random") {
    if (policies.length > 0) throw new CellError("COMMAND_INVALID", "untrained exploration has no policy");
    const actor = randomActor(seed);
    return { note: `untrained exploration, seed ${seed}`, actorOf: () => actor };
  }
  if (policies.length === 0) {
    throw new CellError("COMMAND_INVALID", `the source ${source} needs a trained policy`, {
      remedy: `train one with \`surgiclaw policy train ${task} --method ${source}\` and name it with --policy`,
    });
  }
  const files: PolicyFile[] = [];
  for (const file of policies) files.push(await trainedPolicy(file, task, source));
  const actors = files.map((policy, index) =>
    noisyActor(
      (observation, action) => policyActions(policy, observation, action),
      noise,
      // Streams of their own, also for neighbouring seeds.
      Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b),
    ),
  );
  const who = files.map(({ run, updates }) => `${run} after ${updates} updates`).join(", ");
  return {
    note: `policies in turn: ${who}; noise ${noise}, seed ${seed}`.slice(0, 2000),
    actorOf: (episode) => {
      const actor = actors[episode % actors.length];
      if (actor === undefined) throw new CellError("INTERNAL", `no policy for episode ${episode}`);
      return actor;
    },
  };
}

async function trainedPolicy(file: string, task: string, source: Source): Promise<PolicyFile> {
  const policy = await readPolicy(file);
  const { observationSize, actionSize } = nativeTask(task);
  if (policy.task !== task || !policy.run.startsWith(`${task}-${source}-`)) {
    throw new CellError(
      "PHASE_FILE_FOREIGN",
      `${file} comes from run ${policy.run}, not from ${source} of ${task}`,
    );
  }
  if (policy.observationSize !== observationSize || policy.actionSize !== actionSize) {
    throw new CellError("PHASE_FILE_FOREIGN", `${file} was trained on another state or action of ${task}`);
  }
  return policy;
}
