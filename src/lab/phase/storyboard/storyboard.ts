/**
 * An episode as seven pictures: six composites at evenly spaced times, then what changed between its first and last
 * frame. A composite joins the full view, the crops that the task names, and the number of the step.
 */
import { createHash } from "node:crypto";
import { CellError } from "../../../base/errors.js";
import { readBytes, stepCount, type Episode } from "../episode.js";
import type { Crop, TaskVocabulary } from "../task-vocabulary.js";
import { inPool, type SupportPool } from "../support-pool.js";
import { drawText, textWidth } from "./bitmap-font.js";
import { decodePicture, encodePng, rawPicture } from "./picture-file.js";
import { difference, Raster, type Box, type Colour } from "./raster.js";
import { fitted } from "./resample.js";

export const timedPanels = 6;

export interface Panel {
  readonly kind: "time" | "motion";
  /** The step shown; of the motion panel, first and last. */
  readonly steps: readonly number[];
  /** Ends of these steps, where the episode has times. */
  readonly timesS?: readonly number[];
  readonly picture: Raster;
  readonly png: Uint8Array;
}

export interface Storyboard {
  readonly episode: string;
  /** T. */
  readonly steps: number;
  readonly panels: readonly Panel[];
  /** Of the pixels of all panels. */
  readonly sha256: string;
}

const view: Box = { x: 8, y: 40, width: 448, height: 336 };
/** Crops stand above each other, right of the view, half as high. */
const cropSize = { width: 216, height: 164 };
const gap = 8;
const ink: Colour = [255, 255, 255];
const paper: Colour = [16, 16, 16];
const cropColours: readonly Colour[] = [
  [255, 210, 60],
  [90, 220, 255],
];
const differenceGain = 2;
const labelScale = 3;

/** Six of the recorded frames, as evenly spaced in steps as they allow, the first and the last among them. */
export function timedFrames<F extends { readonly step: number }>(frames: readonly F[]): F[] {
  const first = frames[0];
  const last = frames.at(-1);
  if (first === undefined || last === undefined) return [];
  const nearest = (wanted: number): F =>
    frames.reduce((best, frame) =>
      Math.abs(frame.step - wanted) < Math.abs(best.step - wanted) ? frame : best,
    );
  return Array.from({ length: timedPanels }, (_, index) =>
    nearest(first.step + ((last.step - first.step) * index) / (timedPanels - 1)),
  );
}

/** Draws the panels of an episode. @throws CellError PHASE_FILE_INVALID naming an episode that has no video */
export async function drawStoryboard(
  pool: SupportPool,
  vocabulary: TaskVocabulary,
  episode: Episode,
): Promise<Storyboard> {
  const chosen = timedFrames(episode.frames ?? []);
  if (new Set(chosen.map(({ step }) => step)).size !== timedPanels) {
    throw new CellError(
      "PHASE_FILE_INVALID",
      `episode ${episode.id} has ${episode.frames?.length ?? 0} frames; a storyboard needs ${timedPanels} or more`,
    );
  }
  const raw = episode.rawFrames;
  const frames = await Promise.all(
    chosen.map(async ({ step, file }) => {
      const bytes = await readBytes(inPool(pool, file));
      const name = `frame of step ${step} of episode ${episode.id}`;
      const picture =
        raw === undefined ? await decodePicture(bytes, name) : rawPicture(bytes, raw.width, raw.height, name);
      return { step, picture };
    }),
  );
  const total = stepCount(episode);
  const times = (steps: readonly number[]): Pick<Panel, "timesS"> => {
    const { stepTimesS } = episode;
    return stepTimesS === undefined ? {} : { timesS: steps.map((step) => stepTimesS[step] ?? 0) };
  };
  const panels: Panel[] = [];
  for (const [index, { step, picture }] of frames.entries()) {
    const { timesS } = times([step]);
    const time = timesS === undefined ? "" : `  ${(timesS[0] ?? 0).toFixed(2)} S`;
    const label = `${index + 1}/${timedPanels}  STEP ${step} OF 0-${total - 1}${time}`;
    const drawn = composite(picture, vocabulary.crops, label);
    panels.push({
      kind: "time",
      steps: [step],
      ...times([step]),
      picture: drawn,
      png: await encodePng(drawn),
    });
  }
  const first = frames[0];
  const last = frames.at(-1);
  if (first === undefined || last === undefined) throw new CellError("INTERNAL", "no frames were chosen");
  const changed = composite(
    difference(last.picture, first.picture, differenceGain),
    vocabulary.crops,
    `MOTION: STEP ${first.step} AGAINST ${last.step}`,
  );
  const ends = [first.step, last.step];
  panels.push({
    kind: "motion",
    steps: ends,
    ...times(ends),
    picture: changed,
    png: await encodePng(changed),
  });
  const hash = createHash("sha256");
  for (const { picture } of panels) hash.update(picture.sha256());
  return { episode: episode.id, steps: total, panels, sha256: hash.digest("hex") };
}

/** View, crops and label; the crops' places are outlined in the view. */
function composite(frame: Raster, crops: readonly Crop[], label: string): Raster {
  const width = view.x + view.width + gap + (crops.length > 0 ? cropSize.width + gap : 0);
  const canvas = new Raster(width, view.y + view.height + gap);
  canvas.fill({ x: 0, y: 0, width, height: canvas.height }, paper);
  const scale = textWidth(label, labelScale) <= width - 2 * gap ? labelScale : labelScale - 1;
  drawText(canvas, label, { x: view.x, y: Math.round((view.y - 7 * scale) / 2), scale }, ink);
  canvas.paste(fitted(frame, view.width, view.height), view.x, view.y);
  // Where the frame itself lies within the view, whose shape may be another.
  const shrink = Math.min(view.width / frame.width, view.height / frame.height);
  const left = view.x + (view.width - frame.width * shrink) / 2;
  const top = view.y + (view.height - frame.height * shrink) / 2;
  for (const [index, crop] of crops.entries()) {
    const colour = cropColours[index] ?? ink;
    const part: Box = {
      x: Math.floor(crop.x * frame.width),
      y: Math.floor(crop.y * frame.height),
      width: Math.max(1, Math.floor(crop.width * frame.width)),
      height: Math.max(1, Math.floor(crop.height * frame.height)),
    };
    const place = { x: view.x + view.width + gap, y: view.y + index * (cropSize.height + gap) };
    canvas.paste(fitted(frame.crop(part), cropSize.width, cropSize.height), place.x, place.y);
    canvas.outline({ ...place, ...cropSize }, 2, colour);
    const name = { x: place.x + 6, y: place.y + 6 };
    canvas.fill({ x: name.x - 2, y: name.y - 2, width: textWidth(crop.name, 2) + 4, height: 18 }, paper);
    drawText(canvas, crop.name, { ...name, scale: 2 }, colour);
    const inView = {
      x: Math.round(left + part.x * shrink),
      y: Math.round(top + part.y * shrink),
      width: Math.round(part.width * shrink),
      height: Math.round(part.height * shrink),
    };
    canvas.outline(inView, 1, colour);
  }
  return canvas;
}

/** All panels on one picture, for servers that take fewer: three a row, in reading order. */
export async function contactSheet(board: Storyboard): Promise<{ picture: Raster; png: Buffer }> {
  const width = Math.max(...board.panels.map(({ picture }) => picture.width));
  const height = Math.max(...board.panels.map(({ picture }) => picture.height));
  const columns = 3;
  const rows = Math.ceil(board.panels.length / columns);
  const sheet = new Raster(columns * width, rows * height);
  board.panels.forEach(({ picture }, index) => {
    sheet.paste(picture, (index % columns) * width, Math.floor(index / columns) * height);
  });
  return { picture: sheet, png: await encodePng(sheet) };
}
