/** Storyboards: which frames, what is drawn, and pictures against a second implementation. */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import t from "tap";
import { drawText, textWidth } from "../../../src/lab/phase/storyboard/bitmap-font.js";
import { decodePicture, encodePng, rawPicture } from "../../../src/lab/phase/storyboard/picture-file.js";
import { difference, Raster } from "../../../src/lab/phase/storyboard/raster.js";
import { fitted, resized } from "../../../src/lab/phase/storyboard/resample.js";
import { contactSheet, drawStoryboard, timedFrames } from "../../../src/lab/phase/storyboard/storyboard.js";
import { readEpisode } from "../../../src/lab/phase/support-pool.js";
import { drawScene, episode, frameHeight, frameWidth, makePool, truth } from "./fixtures.js";

const pixel = (raster: Raster, x: number, y: number): number[] => [
  ...raster.pixels.subarray((y * raster.width + x) * 3, (y * raster.width + x) * 3 + 3),
];

t.test("six frames, evenly spaced, the first and the last among them", async (t) => {
  const frames = (steps: number[]) => steps.map((step) => ({ step }));
  const chosen = (steps: number[]) => timedFrames(frames(steps)).map(({ step }) => step);
  t.same(chosen(Array.from({ length: 75 }, (_, step) => step)), [0, 15, 30, 44, 59, 74]);
  t.same(chosen(Array.from({ length: 76 }, (_, step) => step)), [0, 15, 30, 45, 60, 75]);
  t.same(chosen([0, 9, 21, 29, 41, 50]), [0, 9, 21, 29, 41, 50], "no more than there are");
  t.same(chosen([]), []);
});

t.test("a change of size agrees with another implementation of the same filter", async (t) => {
  const source = new Raster(frameWidth, frameHeight, drawScene(30, truth["drop"] ?? {}));
  const raw = { width: frameWidth, height: frameHeight, channels: 3 } as const;
  for (const [width, height] of [
    [53, 40],
    [320, 240],
    [80, 60],
  ] as const) {
    const other = await sharp(source.pixels, { raw })
      .resize(width, height, { fit: "fill", kernel: "linear", fastShrinkOnLoad: false })
      .raw()
      .toBuffer();
    const ours = resized(source, width, height).pixels;
    const off = ours.reduce((sum, value, at) => sum + Math.abs(value - (other[at] ?? 0)), 0) / ours.length;
    t.ok(off < 0.75, `${width} x ${height}: mean difference ${off.toFixed(3)} grey levels`);
  }
  const flat = new Raster(7, 5, new Uint8Array(105).fill(93));
  t.ok(
    resized(flat, 31, 3).pixels.every((value) => value === 93),
    "grey stays grey",
  );
  const wide = fitted(new Raster(40, 10, new Uint8Array(1200).fill(200)), 20, 20);
  t.same(
    [pixel(wide, 10, 2), pixel(wide, 10, 10)],
    [
      [0, 0, 0],
      [200, 200, 200],
    ],
    "the rest is black",
  );
});

t.test("pictures in and out", async (t) => {
  const scene = new Raster(frameWidth, frameHeight, drawScene(0, {}));
  const png = await encodePng(scene);
  t.same((await decodePicture(png, "p")).pixels, scene.pixels, "PNG is exact");
  const meta = await sharp(png).metadata();
  t.match(meta, { format: "png", width: frameWidth, height: frameHeight });
  const grey = await sharp({ create: { width: 4, height: 3, channels: 3, background: "#808080" } })
    .greyscale()
    .jpeg()
    .toBuffer();
  t.same([...(await decodePicture(grey, "g")).pixels], new Array(36).fill(128), "grey JPEG to RGB");
  t.same([...rawPicture(Uint8Array.of(1, 2), 2, 1, "r").pixels], [1, 1, 1, 2, 2, 2]);
  t.same([...rawPicture(Uint8Array.of(1, 2, 3), 1, 1, "r").pixels], [1, 2, 3]);
  t.throws(() => rawPicture(new Uint8Array(5), 2, 1, "r"), {
    code: "PHASE_FILE_INVALID",
    message: /r: 5 bytes/,
  });
  await t.rejects(decodePicture(Buffer.from("no picture"), "x"), {
    code: "PHASE_FILE_INVALID",
    message: /x is no/,
  });
  await t.rejects(decodePicture(png.subarray(0, 60), "cut"), { code: "PHASE_FILE_INVALID" });
  t.throws(() => difference(scene, new Raster(1, 1), 2), { code: "PHASE_FILE_INVALID" });
});

t.test("labels are drawn with our own letters", async (t) => {
  const raster = new Raster(12, 9);
  drawText(raster, "1i", { x: 0, y: 1, scale: 1 }, [9, 9, 9]);
  const rows = Array.from({ length: 9 }, (_, y) =>
    Array.from({ length: 12 }, (_, x) => (pixel(raster, x, y)[0] === 9 ? "#" : ".")).join(""),
  );
  t.same(rows, [
    "............",
    "..#...#####.",
    ".##.....#...",
    "..#.....#...",
    "..#.....#...",
    "..#.....#...",
    "..#.....#...",
    ".###..#####.",
    "............",
  ]);
  t.equal(textWidth("AB", 3), 33);
});

t.test("an episode's seven panels", async (t) => {
  const made = await makePool({ frames: true });
  const drop = await readEpisode(made.pool, made.vocabulary, "drop");
  const board = await drawStoryboard(made.pool, made.vocabulary, drop);
  t.same(
    board.panels.map(({ kind, steps }) => [kind, ...steps]),
    [
      ["time", 0],
      ["time", 9],
      ["time", 15],
      ["time", 24],
      ["time", 30],
      ["time", 39],
      ["motion", 0, 39],
    ],
  );
  t.same(board.panels[1]?.timesS, [0.5], "the end of step 9 at 20 steps/s");
  for (const { picture } of board.panels) t.same([picture.width, picture.height], [688, 384]);
  const [start, , , , , end, motion] = board.panels.map(({ picture }) => picture);
  if (!start || !end || !motion) throw new Error("panels are missing");
  // The view is 448 x 336 at (8, 40): 2.8 times the frame. The block's middle is (80, 83) at first, (80, 53) at last.
  const at = (x: number, y: number): [number, number] => [Math.round(8 + 2.8 * x), Math.round(40 + 2.8 * y)];
  t.same(pixel(start, ...at(80, 83)), [200, 40, 40], "block on the table");
  const [r, g] = pixel(end, ...at(80, 53));
  t.ok(Math.abs((r ?? 0) - 200) < 8 && (g ?? 255) < 60, "block in the air (a JPEG frame)");
  t.ok((pixel(motion, ...at(80, 53))[1] ?? 0) > 200, "what changed is bright");
  t.ok(Math.max(...pixel(motion, ...at(20, 20))) < 20, "what did not is dark");

  const again = await drawStoryboard(made.pool, made.vocabulary, drop);
  t.equal(again.sha256, board.sha256, "the same pixels again");
  t.same(
    again.panels.map(({ png }) => png),
    board.panels.map(({ png }) => png),
  );
  const whole = await readEpisode(made.pool, made.vocabulary, "whole");
  t.not((await drawStoryboard(made.pool, made.vocabulary, whole)).sha256, board.sha256);
  const sheet = await contactSheet(board);
  t.same([sheet.picture.width, sheet.picture.height], [3 * 688, 3 * 384]);
  t.same(
    sheet.picture.crop({ x: 0, y: 768, width: 688, height: 384 }).pixels,
    motion.pixels,
    "motion comes last",
  );

  const keep = process.env["SURGICLAW_KEEP_PICTURES"];
  if (keep !== undefined) await writeFile(path.join(keep, "sheet.png"), sheet.png);
});

t.test("bare pixels serve as well; episodes without video are refused by name", async (t) => {
  const made = await makePool({ frames: true });
  const drop = await readEpisode(made.pool, made.vocabulary, "drop");
  const frames = await Promise.all(
    (drop.frames ?? []).map(async ({ step, file }) => {
      const { pixels } = await decodePicture(await readFile(path.join(made.pool.folder, file)), file);
      await writeFile(path.join(made.pool.folder, `${step}.rgb`), pixels);
      return { step, file: `${step}.rgb` };
    }),
  );
  const raw = { ...drop, frames, rawFrames: { width: frameWidth, height: frameHeight } };
  const draw = (changed: typeof drop) => drawStoryboard(made.pool, made.vocabulary, changed);
  t.equal((await draw(raw)).sha256, (await draw(drop)).sha256);
  const refused = { code: "PHASE_FILE_INVALID", message: /episode drop/ };
  await t.rejects(draw(episode("drop", {})), refused);
  await t.rejects(draw({ ...drop, frames: frames.slice(0, 5) }), refused);
  await t.rejects(draw({ ...raw, rawFrames: { width: 3, height: 3 } }), refused);
  await t.rejects(draw({ ...drop, frames: frames.map(({ step }) => ({ step, file: "../../x.png" })) }), {
    code: "PHASE_FILE_INVALID",
    message: /outside the pool/,
  });
});
