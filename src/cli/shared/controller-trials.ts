/**
 * The trials of a campaign on disk, so that what was measured survives whatever ends it: a folder with what was asked for
 * and one line a trial, written as each trial ends.
 */
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import { trialSchema, type Trial } from "../../lab/evaluation/controllers/controller-trial.js";

export const setNames = ["default", "hard", "optics2"] as const;
export type SetName = (typeof setNames)[number];

const requestSchema = z.strictObject({
  trials: z.number().int().positive(),
  seed: z.number().int(),
  set: z.enum(setNames),
});
export type CampaignRequest = z.output<typeof requestSchema>;

export interface Campaign {
  readonly folder: string;
  /** One trial a line. */
  readonly file: string;
  readonly request: CampaignRequest;
  /** Those known when it was opened. */
  readonly trials: readonly Trial[];
}

const filesIn = (folder: string): { readonly trials: string; readonly request: string } => ({
  trials: path.join(folder, "trials.jsonl"),
  request: path.join(folder, "campaign.json"),
});

/** @throws CellError CONFIG_INVALID when the folder holds the trials of an earlier run */
export async function createCampaign(folder: string, request: CampaignRequest): Promise<Campaign> {
  await mkdir(folder, { recursive: true });
  const files = filesIn(folder);
  await writeFile(files.trials, "", { flag: "wx" }).catch((error: unknown) => {
    throw new CellError("CONFIG_INVALID", `${files.trials} holds the trials of an earlier run`, {
      cause: error,
      remedy: `go on with it by --resume ${folder}, sum it up with --from, or name another folder with --out`,
    });
  });
  await writeFile(files.request, `${JSON.stringify(request)}\n`);
  return { folder, file: files.trials, request, trials: [] };
}

/**
 * A campaign that was interrupted, to go on with. A trial whose line was cut off by what ended the run counts as not made.
 * @throws CellError CONFIG_UNREADABLE, CONFIG_INVALID
 */
export async function openCampaign(folder: string): Promise<Campaign> {
  const files = filesIn(folder);
  const request = requestSchema.safeParse(parsed(await read(files.request)));
  if (!request.success)
    throw new CellError("CONFIG_INVALID", `${files.request} does not say what was asked for`, {
      cause: request.error,
    });
  const text = await read(files.trials);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole.length < text.length) await writeFile(files.trials, whole);
  return { folder, file: files.trials, request: request.data, trials: trialsOf(whole, files.trials) };
}

export const keepTrial = (campaign: Campaign, trial: Trial): Promise<void> =>
  appendFile(campaign.file, `${JSON.stringify(trial)}\n`);

/** @throws CellError CONFIG_UNREADABLE, CONFIG_INVALID */
export const readTrials = async (file: string): Promise<Trial[]> => trialsOf(await read(file), file);

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CellError("CONFIG_UNREADABLE", `${file}: ${(error as Error).message}`, { cause: error });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function trialsOf(text: string, file: string): Trial[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line, i) => {
    const trial = trialSchema.safeParse(parsed(line));
    if (!trial.success)
      throw new CellError("CONFIG_INVALID", `${file}, line ${i + 1} is not a trial`, { cause: trial.error });
    return trial.data;
  });
}
