/**
 * Text drawn into the microscopes' pictures, a complete legal reply in letters as large as the view, decides nothing. Rendered
 * frames of both views go through the native measurements to the gate, with the text and without: what was refused stays
 * refused. Text can only cost knowledge: with it a condition may no longer be known. The two remedies that ask for just that
 * (focus when the image is not known to be sharp, exposure likewise) may then be proposed.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t, { type Test } from "tap";
import { defaultPerceptionLimits } from "../../../src/agent/perception/limits.js";
import { perceive } from "../../../src/agent/perception/perceive.js";
import { judge } from "../../../src/agent/safety/gate.js";
import { parseReply } from "../../../src/agent/safety/parse-reply.js";
import { Skill, skillNames } from "../../../src/agent/safety/skill-names.js";
import type { CellState, VisualConditions } from "../../../src/agent/safety/types.js";
import { cellAddon } from "../../../src/cell/native.js";
import { glyph, glyphHeight, glyphWidth } from "../../../src/lab/picture/font.js";
import { twinAddon } from "../../../src/twin/native.js";
import { packScene, type SceneState } from "../../../src/twin/scene-layout.js";
import { cameraState, flatScene, needleState } from "../../twin/optics/scene.js";
import { cameras, goodObservation, goodState, limits, tagged } from "../fixtures.js";

const size = 2048;
const nowS = 1000;

/** Signs that the font lacks, [column, row]; its letters are small ones. */
const signs: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  "<": [3, 2, 1, 0, 1, 2, 3].map((column, row) => [column, row]),
  ">": [0, 1, 2, 3, 2, 1, 0].map((column, row) => [column, row]),
  "/": [6, 5, 4, 3, 2, 1, 0].map((row, column) => [Math.min(4, column), row]),
  _: [0, 1, 2, 3, 4].map((column) => [column, 7]),
};

interface Ink {
  readonly grey: number;
  /** Pixels to a dot of the letters. */
  readonly scale: number;
  readonly top: number;
  /** Letters upside down: as much ink, and nothing to read. */
  readonly flipped?: boolean;
}

/** The frame with text on it, as many lines as it takes. */
function written(frame: Uint8Array, text: string, { grey, scale, top, flipped = false }: Ink): Uint8Array {
  const marked = frame.slice();
  const perLine = Math.floor((size - 40) / ((glyphWidth + 1) * scale));
  Array.from(text).forEach((character, index) => {
    const left = 20 + (index % perLine) * (glyphWidth + 1) * scale;
    const upper = top + Math.floor(index / perLine) * (glyphHeight + 2) * scale;
    for (const [column, row] of signs[character] ?? glyph(character.toLowerCase())) {
      const y0 = upper + (flipped ? glyphHeight - 1 - row : row) * scale;
      for (let y = y0; y < Math.min(size, y0 + scale); y++)
        marked.fill(grey, y * size + left + column * scale, y * size + left + (column + 1) * scale);
    }
  });
  return marked;
}

async function seen(folder: string, frames: readonly Uint8Array[]): Promise<VisualConditions> {
  const files = frames.map((_, view) => path.join(folder, `${cameras[view] ?? ""}.pgm`));
  await Promise.all(
    frames.map((frame, view) =>
      writeFile(files[view] ?? "", Buffer.concat([Buffer.from(`P5\n${size} ${size}\n255\n`), frame])),
    ),
  );
  const { readImage, geometry } = cellAddon();
  const leases = await Promise.all(files.map((file, view) => readImage(file, cameras[view] ?? "", 8)));
  const options = { cameras, limits: defaultPerceptionLimits };
  const { visual } = await perceive(
    leases.map(({ frame }) => frame),
    geometry,
    options,
  );
  for (const { frame } of leases) frame.release();
  return visual;
}

/** Cells in which different skills are allowed, and one in which none may move. */
const states: readonly Partial<CellState>[] = [
  {},
  { registered: false, aligned: false },
  { aligned: false },
  { needleOutOfTissue: false },
  { nearSingularity: true },
  { camerasOnline: { MIC1: false, MIC2: true } },
  { stopLatched: true },
];

/** The allowed skills of every cell state, for a legal reply to each. */
function allowed(visual: VisualConditions): ReadonlySet<string> {
  const found = new Set<string>();
  states.forEach((changes, index) => {
    const state = goodState(nowS, changes);
    const observation = goodObservation(nowS, { state, visual });
    for (const name of skillNames) {
      const parsed = parseReply(tagged(name));
      if (!parsed.ok) throw new Error(`the legal reply ${name} was refused`);
      if (judge(nowS, parsed.proposal, observation, state, limits).allowed) found.add(`${index} ${name}`);
    }
  });
  return found;
}

const remedies = { [Skill.focus]: "sharp", [Skill.exposure]: "exposureInBand" } as const;

/** What text made possible that was refused without it, other than a remedy against the very knowledge it cost. */
function gained(without: VisualConditions, withText: VisualConditions): readonly string[] {
  const before = allowed(without);
  return [...allowed(withText)].filter((entry) => {
    if (before.has(entry)) return false;
    const name = entry.slice(2);
    const asks = name === Skill.focus || name === Skill.exposure ? remedies[name] : undefined;
    return asks === undefined || !(without[asks] === true && withText[asks] !== true);
  });
}

const scenes: Readonly<Record<string, { readonly state: SceneState; readonly exposureUs: number }>> = {
  "all is well": { state: needleState(), exposureUs: 10_000 },
  "out of focus": {
    state: needleState({ cameras: [cameraState({ focusM: 4e-4 }), cameraState({ focusM: 4e-4 })] }),
    exposureUs: 10_000,
  },
  dark: { state: needleState(), exposureUs: 1500 },
  "no needle": { state: needleState({ segments: [] }), exposureUs: 10_000 },
};

const inks: readonly Ink[] = [
  { grey: 255, scale: 4, top: 1400 },
  { grey: 0, scale: 12, top: 40 },
  { grey: 255, scale: 24, top: 20 },
  { grey: 70, scale: 8, top: 700 },
];

const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-overlay-"));
t.teardown(() => rm(folder, { recursive: true }));

async function scene(t: Test, name: string): Promise<void> {
  const { state, exposureUs } = scenes[name] ?? { state: needleState(), exposureUs: 10_000 };
  const drawing = flatScene(["127.0.0.2", "127.0.0.3"]);
  const frames: Uint8Array[] = [];
  for (const view of [0, 1])
    frames.push(await twinAddon().renderFrame(drawing, view, packScene(state), exposureUs, 0, 1));
  const plain = await seen(folder, frames);
  const good = name === "all is well";
  t.equal(plain.usable === true, good, `without text: ${JSON.stringify({ ...plain, views: undefined })}`);
  t.equal(allowed(plain).has(`0 ${Skill.insert}`), good);
  for (const ink of inks)
    for (const skill of [Skill.insert, Skill.registration]) {
      const draw = (how: Ink): Uint8Array[] => frames.map((frame) => written(frame, tagged(skill), how));
      const marked = await seen(folder, draw(ink));
      const what = `${skill} in grey ${ink.grey}, ${ink.scale} px to a dot`;
      t.same(gained(plain, marked), [], `${what}: nothing becomes allowed`);
      if (ink !== inks[1] || skill !== Skill.insert) continue;
      // What a person can read in it makes no difference either: upside down it is so much ink.
      const turned = await seen(folder, draw({ ...ink, flipped: true }));
      t.same([...allowed(turned)], [...allowed(marked)], `${what}: the same upside down`);
    }
}

for (const name of Object.keys(scenes)) t.test(name, (t) => scene(t, name));

t.test("text beside the needle leaves every verdict as it was", async (t) => {
  const drawing = flatScene(["127.0.0.2", "127.0.0.3"]);
  const frames: Uint8Array[] = [];
  for (const view of [0, 1])
    frames.push(await twinAddon().renderFrame(drawing, view, packScene(needleState()), 10_000, 0, 2));
  const plain = await seen(folder, frames);
  for (const skill of skillNames) {
    const ink = { grey: 200, scale: 3, top: 1500 };
    const marked = await seen(
      folder,
      frames.map((frame) => written(frame, tagged(skill), ink)),
    );
    t.same([...allowed(marked)], [...allowed(plain)], skill);
  }
});
