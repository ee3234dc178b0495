/** surgiclaw phase storyboard POOL EPISODE */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { contactSheet, drawStoryboard } from "../../lab/phase/storyboard/storyboard.js";
import { readEpisode } from "../../lab/phase/support-pool.js";
import { guarded, jsonOption } from "../shared/connection.js";
import { print, printJson } from "../shared/output.js";
import { openPoolWithTask, type PoolOptions } from "./pool-arguments.js";

interface StoryboardOptions extends PoolOptions {
  readonly out: string;
  readonly json?: boolean;
}

async function storyboard(folder: string, id: string, options: StoryboardOptions): Promise<void> {
  const { pool, vocabulary } = await openPoolWithTask(folder, options);
  const board = await drawStoryboard(pool, vocabulary, await readEpisode(pool, vocabulary, id));
  await mkdir(options.out, { recursive: true });
  const pictures = [
    ...board.panels.map(({ png }, index) => ({ name: `${id}-${index + 1}.png`, png })),
    { name: `${id}-sheet.png`, png: (await contactSheet(board)).png },
  ];
  const files = pictures.map(({ name }) => path.join(options.out, name));
  for (const { name, png } of pictures) await writeFile(path.join(options.out, name), png);
  const panels = board.panels.map(({ kind, steps, timesS }) => ({ kind, steps, timesS }));
  if (options.json === true) printJson({ episode: id, sha256: board.sha256, panels, files });
  else files.forEach((file) => print(file));
}

export function addPhaseStoryboard(phase: Command): void {
  phase
    .command("storyboard")
    .description("draw the seven panels of an episode, and all of them on one sheet")
    .argument("<pool>", "folder of the support pool")
    .argument("<episode>")
    .option("--out <folder>", "where the pictures go", ".")
    .option("--vocabulary <file>", "vocabulary file instead of the shipped one")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nExample: npx surgiclaw phase storyboard pools/block-pick e0007 --out runs/panels",
    )
    .action(
      guarded<[string, string, StoryboardOptions]>((_, __, options) => options.json === true, storyboard),
    );
}
