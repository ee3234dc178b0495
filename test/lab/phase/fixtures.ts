/** A small pool of hand-made episodes with its reference, for the tests of phase feedback. */
import { mkdtemp, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import sharp from "sharp";
import { episodeFormat, type Episode } from "../../../src/lab/phase/episode.js";
import { writeReference, type Arrivals } from "../../../src/lab/phase/phase-reference.js";
import type { RecordLine } from "../../../src/lab/phase/record-store.js";
import { openPool, writePool, type SupportPool } from "../../../src/lab/phase/support-pool.js";
import {
  taskVocabulary,
  vocabularyHash,
  type TaskVocabulary,
} from "../../../src/lab/phase/task-vocabulary.js";

export const steps = 40;

/** Episode -> first arrivals. In `drop` the block is lifted and lost, in `slip` only touched. */
export const truth: Readonly<Record<string, Arrivals>> = {
  whole: { approach: 6, "contact/grasp": 12, lift: 18, "stable success": 36 },
  drop: { approach: 5, "contact/grasp": 11, lift: 20 },
  slip: { approach: 8, "contact/grasp": 15 },
  near: { approach: 30 },
  idle: {},
};

export const frameWidth = 160;
export const frameHeight = 120;

/** One frame of a made scene: grey table, red block whose height is drawn, a blue tool above it. RGB. */
export function drawScene(step: number, arrivals: Arrivals): Buffer {
  const pixels = Buffer.alloc(frameWidth * frameHeight * 3, 190);
  const box = (
    x: number,
    y: number,
    w: number,
    h: number,
    [r, g, b]: readonly [number, number, number],
  ): void => {
    for (let row = Math.max(0, y); row < Math.min(frameHeight, y + h); row++) {
      for (let column = Math.max(0, x); column < Math.min(frameWidth, x + w); column++) {
        const at = (row * frameWidth + column) * 3;
        pixels[at] = r;
        pixels[at + 1] = g;
        pixels[at + 2] = b;
      }
    }
  };
  box(0, 90, frameWidth, 30, [120, 110, 100]);
  const lift = arrivals["lift"];
  const raised = lift === undefined || step < lift ? 0 : Math.min(30, (step - lift + 1) * 3);
  box(72, 76 - raised, 16, 14, [200, 40, 40]);
  const reach = arrivals["approach"] === undefined ? 0 : Math.min(1, step / arrivals["approach"]);
  box(76, Math.round(10 + reach * 46) - raised, 8, 20, [40, 60, 200]);
  return pixels;
}

async function writeFrames(
  folder: string,
  id: string,
  arrivals: Arrivals,
): Promise<NonNullable<Episode["frames"]>> {
  await mkdir(path.join(folder, "frames", id), { recursive: true });
  const frames: NonNullable<Episode["frames"]> = [];
  for (let step = 0; step < steps; step += 3) {
    const raw = { width: frameWidth, height: frameHeight, channels: 3 } as const;
    const image = sharp(drawScene(step, arrivals), { raw });
    // Both kinds of file, as recorders write them.
    const jpeg = step % 2 === 1;
    const file = path.join("frames", id, `${step}.${jpeg ? "jpg" : "png"}`);
    const bytes = await (jpeg ? image.jpeg({ quality: 95 }) : image.png()).toBuffer();
    await writeFile(path.join(folder, file), bytes);
    frames.push({ step, file });
  }
  return frames;
}

export function episode(id: string, arrivals: Arrivals, more: Partial<Episode> = {}): Episode {
  const succeeded = arrivals["stable success"] !== undefined;
  return {
    format: episodeFormat,
    id,
    task: "BlockPick",
    rewards: Array.from({ length: steps }, (_, step) => (succeeded && step === steps - 1 ? 1 : 0)),
    terminal: Array.from({ length: steps }, (_, step) => succeeded && step === steps - 1),
    observations: Array.from({ length: steps + 1 }, (_, step) => [step / 10, id.length, -step]),
    actions: Array.from({ length: steps }, (_, step) => [Math.sin(step), step % 2]),
    stepTimesS: Array.from({ length: steps }, (_, step) => (step + 1) / 20),
    ...more,
  };
}

export interface MadePool {
  readonly pool: SupportPool;
  readonly vocabulary: TaskVocabulary;
  readonly referenceFile: string;
}

/** The five episodes on disk; with pictures where asked. */
export async function makePool(options: { readonly frames?: boolean } = {}): Promise<MadePool> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-phase-"));
  const vocabulary = await taskVocabulary("BlockPick");
  const episodes: Episode[] = [];
  for (const [id, arrivals] of Object.entries(truth)) {
    const frames = options.frames === true ? { frames: await writeFrames(folder, id, arrivals) } : {};
    episodes.push(episode(id, arrivals, frames));
  }
  await writePool(folder, { task: "BlockPick", source: "shaped" }, episodes);
  const referenceFile = path.join(folder, "reference.json");
  await writeReference(referenceFile, vocabulary, truth);
  return { pool: await openPool(folder), vocabulary, referenceFile };
}

/** A line of the record file with this reply. */
export function line(made: MadePool, id: string, reply: unknown, more: Partial<RecordLine> = {}): RecordLine {
  return {
    format: "surgiclaw.phase-record/1",
    episode: id,
    task: "BlockPick",
    vocabularySha256: vocabularyHash(made.vocabulary),
    poolSha256: made.pool.sha256,
    form: "steps",
    observer: "test",
    finishReason: "stop",
    reply: typeof reply === "string" ? reply : JSON.stringify(reply),
    askedAt: "2026-01-01T00:00:00.000Z",
    ...more,
  };
}
