/**
 * A support pool: the episodes of one task from one source, frozen. `pool.json` lists them with their hashes, so that a
 * changed episode is found before it is used.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { canonicalJson } from "../../record/canonical-json.js";
import { replaceFile } from "../../record/durable-file.js";
import { episodeId, episodeSchema, parseJsonFile, readBytes, stepCount, type Episode } from "./episode.js";
import type { TaskVocabulary } from "./task-vocabulary.js";

export const poolFormat = "surgiclaw.phase-pool/1";

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);

const poolSchema = z
  .strictObject({
    format: z.literal(poolFormat),
    task: z.string().min(1),
    /** Who collected it. `recorded` is the real world: its episodes may be longer than the task's horizon. */
    source: z.enum(["shaped", "sparse", "random", "recorded"]),
    /** Where it comes from, in words. */
    note: z.string().max(2000).optional(),
    episodes: z
      .array(z.strictObject({ id: episodeId, file: z.string().min(1).max(300), sha256: sha256Hex }))
      .min(1),
  })
  .refine(({ episodes }) => new Set(episodes.map(({ id }) => id)).size === episodes.length, {
    path: ["episodes"],
    error: "an episode stands twice",
  });

export type PoolManifest = z.infer<typeof poolSchema>;

export interface SupportPool {
  readonly folder: string;
  readonly manifest: PoolManifest;
  /** Of the manifest, and through it of every episode. */
  readonly sha256: string;
}

const hash = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("hex");

/** A path of the pool's files that stays in its folder. @throws CellError PHASE_FILE_INVALID */
export function inPool(pool: Pick<SupportPool, "folder">, file: string): string {
  const full = path.resolve(pool.folder, file);
  if (!full.startsWith(path.resolve(pool.folder) + path.sep)) {
    throw new CellError("PHASE_FILE_INVALID", `${pool.folder}: ${file} lies outside the pool`);
  }
  return full;
}

/** Reads the list of a pool; episodes are read one by one. @throws CellError CONFIG_UNREADABLE, PHASE_FILE_INVALID */
export async function openPool(folder: string): Promise<SupportPool> {
  const file = path.join(folder, "pool.json");
  const manifest = parseJsonFile(file, (await readBytes(file)).toString("utf8"), poolSchema);
  return { folder, manifest, sha256: hash(canonicalJson(manifest)) };
}

/**
 * Reads one episode and checks it against the pool and the task.
 * @throws CellError PHASE_FILE_INVALID, PHASE_FILE_FOREIGN, COMMAND_INVALID when the pool has no such episode
 */
export async function readEpisode(
  pool: SupportPool,
  vocabulary: TaskVocabulary,
  id: string,
): Promise<Episode> {
  const entry = pool.manifest.episodes.find((candidate) => candidate.id === id);
  if (entry === undefined) throw new CellError("COMMAND_INVALID", `${pool.folder} has no episode ${id}`);
  const file = inPool(pool, entry.file);
  const bytes = await readBytes(file);
  if (hash(bytes) !== entry.sha256) {
    throw new CellError("PHASE_FILE_INVALID", `${file}: episode ${id} was changed since the pool was frozen`);
  }
  const episode = parseJsonFile(file, bytes.toString("utf8"), episodeSchema);
  if (episode.id !== id)
    throw new CellError("PHASE_FILE_INVALID", `${file}: holds episode ${episode.id}, not ${id}`);
  requireTask(vocabulary, pool.manifest.task, pool.folder);
  requireTask(vocabulary, episode.task, `episode ${id}`);
  if (pool.manifest.source !== "recorded" && stepCount(episode) > vocabulary.horizon) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `episode ${id} has ${stepCount(episode)} steps; ${vocabulary.task} ends after ${vocabulary.horizon}`,
    );
  }
  return episode;
}

/** @throws CellError PHASE_FILE_FOREIGN when `what` is of another task */
export function requireTask(vocabulary: TaskVocabulary, task: string, what: string): void {
  if (task !== vocabulary.task) {
    throw new CellError("PHASE_FILE_FOREIGN", `${what} is of task ${task}, not ${vocabulary.task}`);
  }
}

/** Writes a pool: its episodes first, the list that makes them one last. Frames are written by whoever has them. */
export async function writePool(
  folder: string,
  about: Pick<PoolManifest, "task" | "source" | "note">,
  episodes: readonly Episode[],
): Promise<SupportPool> {
  await mkdir(path.join(folder, "episodes"), { recursive: true });
  const listed: PoolManifest["episodes"] = [];
  for (const episode of episodes) {
    const checked = episodeSchema.parse(episode);
    const text = `${canonicalJson(checked)}\n`;
    const file = path.join("episodes", `${checked.id}.json`);
    await replaceFile(path.join(folder, file), text);
    listed.push({ id: checked.id, file, sha256: hash(text) });
  }
  const manifest = poolSchema.parse({ format: poolFormat, ...about, episodes: listed });
  await replaceFile(path.join(folder, "pool.json"), `${JSON.stringify(manifest, undefined, 1)}\n`);
  return openPool(folder);
}
