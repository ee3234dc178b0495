/** surgiclaw perceive FRAME [FRAME2]: what the daemon's own perception makes of image files. */
import { writeFile } from "node:fs/promises";
import { InvalidArgumentError, type Command } from "commander";
import { perceive } from "../agent/perception/perceive.js";
import { defaultPerceptionLimits } from "../agent/perception/limits.js";
import { CellError } from "../base/errors.js";
import { asNativeError } from "../cell/native-error.js";
import { cellAddon, type FrameLease, type ImageMetrics, type NeedleEstimate } from "../cell/native.js";
import { perceptionOverlay } from "../lab/picture/perception-overlay.js";
import { guarded, jsonOption } from "./shared/connection.js";
import { paint, print, printJson } from "./shared/output.js";

interface PerceiveVerbOptions {
  readonly json?: boolean;
  readonly overlay?: string;
  readonly bits?: number;
}

function bitsOption(text: string): number {
  const bits = Number(text);
  if (!Number.isInteger(bits) || bits < 8 || bits > 16) throw new InvalidArgumentError("8 to 16");
  return bits;
}

interface Image {
  readonly file: string;
  readonly bits: number;
  readonly frame: FrameLease;
}

async function read(file: string, name: string, bits: number): Promise<Image> {
  try {
    return { file, ...(await cellAddon().readImage(file, name, bits)) };
  } catch (error) {
    throw asNativeError(error, "image");
  }
}

const word = (value: boolean | "unknown"): string =>
  value === true ? paint("green", "yes") : value === false ? paint("red", "no") : paint("yellow", "unknown");

function describe(image: Image, metrics: ImageMetrics, needle: NeedleEstimate): string[] {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  const degrees = (rad: number): string => `${((rad * 180) / Math.PI).toFixed(3)}\u00b0`;
  return [
    paint("bold", image.file),
    `  image      ${image.frame.width} x ${image.frame.height} px, ${image.bits} bits`,
    `  exposure   mean ${metrics.mean.toFixed(1)}, p01 ${metrics.p01.toFixed(0)}, p50 ${metrics.p50.toFixed(0)}, p99 ${metrics.p99.toFixed(0)}; ` +
      `clipped ${percent(metrics.clippedLow)} low, ${percent(metrics.clippedHigh)} high`,
    `  sharpness  Tenengrad ${metrics.tenengrad.toPrecision(4)}, Brenner ${metrics.brenner.toPrecision(4)}`,
    needle.found
      ? `  needle     tip (${needle.tipX.toFixed(2)}, ${needle.tipY.toFixed(2)}) \u00b1 ${needle.tipSigmaPx.toFixed(2)} px, ` +
        `${degrees(Math.atan2(needle.directionX, needle.directionY))} from straight down \u00b1 ${degrees(needle.angleSigmaRad)}, ` +
        `${needle.widthPx.toFixed(1)} px wide, edge sigma ${needle.edgeSigmaPx.toFixed(2)} px, confidence ${needle.confidence.toFixed(2)}`
      : `  needle     not found: ${needle.reason}`,
  ];
}

async function run(files: readonly string[], options: PerceiveVerbOptions): Promise<void> {
  const { geometry } = cellAddon();
  const images: Image[] = [];
  try {
    for (const [i, file] of files.entries()) images.push(await read(file, `view${i + 1}`, options.bits ?? 0));
    const frames = images.map(({ frame }) => frame);
    const cameras = frames.map(({ camera }) => camera);
    const { visual, needles } = await perceive(frames, geometry, {
      cameras,
      limits: defaultPerceptionLimits,
    });
    const metrics = await Promise.all(frames.map((frame) => geometry.measureImage(frame)));
    const needleOf = (camera: string): NeedleEstimate => {
      const needle = needles.get(camera);
      if (needle === undefined) throw new CellError("VISION_UNKNOWN", `${camera} could not be measured`);
      return needle;
    };
    if (options.overlay !== undefined) {
      const drawn = perceptionOverlay(frames.map((frame) => ({ frame, needle: needleOf(frame.camera) })));
      await writeFile(options.overlay, drawn.png());
    }
    const { sharp, exposureInBand, needleVisible, usable } = visual;
    if (options.json === true) {
      printJson({
        images: images.map(({ file, bits, frame }, i) => ({
          file,
          width: frame.width,
          height: frame.height,
          bits,
          metrics: metrics[i],
          needle: needleOf(frame.camera),
          conditions: visual.views[i],
        })),
        ...{ sharp, exposureInBand, needleVisible, usable },
      });
      return;
    }
    for (const [i, image] of images.entries()) {
      const measured = metrics[i];
      if (measured !== undefined)
        for (const line of describe(image, measured, needleOf(image.frame.camera))) print(line);
    }
    print(
      `sharp ${word(sharp)}   exposure in band ${word(exposureInBand)}   needle visible ${word(needleVisible)}   usable ${word(usable)}`,
    );
    if (options.overlay !== undefined) print(`overlay    ${options.overlay}`);
  } finally {
    for (const { frame } of images) frame.release();
  }
}

export function addPerceive(program: Command): void {
  program
    .command("perceive")
    .description("measure image files as the daemon measures its frames: exposure, sharpness, needle")
    .argument("<frame>", "image file: PNG, TIFF, JPEG, PGM or BMP, 8 or 16 bits")
    .argument("[frame2]", "the same moment in the second view: conditions then need both")
    .option("--overlay <png>", "draw what was found into this PNG file")
    .option(
      "--bits <n>",
      "how many bits of a 16-bit file count (default: what holds its brightest pixel)",
      bitsOption,
    )
    .addOption(jsonOption())
    .addHelpText(
      "after",
      "\nWhat cannot be told is unknown, and unknown never permits motion. Lengths are pixels.\n" +
        "\nExample: npx surgiclaw perceive runs/latest/frames/0001-view1-20.jpg --overlay found.png",
    )
    .action(
      guarded<[string, string | undefined, PerceiveVerbOptions]>(
        (_, __, options) => options.json === true,
        (first, second, options) => run(second === undefined ? [first] : [first, second], options),
      ),
    );
}
