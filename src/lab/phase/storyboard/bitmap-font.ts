/**
 * Capital letters, digits and a few signs in cells of 5 by 7 pixels, drawn for this project. Labels look the same on
 * every machine, whatever fonts it has.
 */
import type { Raster } from "./raster.js";

const width = 5;
const height = 7;
/** Columns and rows from one character to the next. */
export const advance = { x: width + 1, y: height + 2 } as const;

/** Seven rows of five pixels each; # is ink. */
const glyphs: Readonly<Record<string, string>> = {
  A: ".###. #...# #...# ##### #...# #...# #...#",
  B: "####. #...# #...# ####. #...# #...# ####.",
  C: ".###. #...# #.... #.... #.... #...# .###.",
  D: "####. #...# #...# #...# #...# #...# ####.",
  E: "##### #.... #.... ####. #.... #.... #####",
  F: "##### #.... #.... ####. #.... #.... #....",
  G: ".###. #...# #.... #.### #...# #...# .###.",
  H: "#...# #...# #...# ##### #...# #...# #...#",
  I: "##### ..#.. ..#.. ..#.. ..#.. ..#.. #####",
  J: "..### ...#. ...#. ...#. ...#. #..#. .##..",
  K: "#...# #..#. #.#.. ##... #.#.. #..#. #...#",
  L: "#.... #.... #.... #.... #.... #.... #####",
  M: "#...# ##.## #.#.# #.#.# #...# #...# #...#",
  N: "#...# ##..# ##..# #.#.# #..## #..## #...#",
  O: ".###. #...# #...# #...# #...# #...# .###.",
  P: "####. #...# #...# ####. #.... #.... #....",
  Q: ".###. #...# #...# #...# #.#.# #..#. .##.#",
  R: "####. #...# #...# ####. #.#.. #..#. #...#",
  S: ".#### #.... #.... .###. ....# ....# ####.",
  T: "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
  U: "#...# #...# #...# #...# #...# #...# .###.",
  V: "#...# #...# #...# #...# #...# .#.#. ..#..",
  W: "#...# #...# #...# #.#.# #.#.# ##.## #...#",
  X: "#...# #...# .#.#. ..#.. .#.#. #...# #...#",
  Y: "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#..",
  Z: "##### ....# ...#. ..#.. .#... #.... #####",
  0: ".###. #...# #..## #.#.# ##..# #...# .###.",
  1: "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
  2: ".###. #...# ....# ...#. ..#.. .#... #####",
  3: "##### ...#. ..#.. ...#. ....# #...# .###.",
  4: "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
  5: "##### #.... ####. ....# ....# #...# .###.",
  6: "..##. .#... #.... ####. #...# #...# .###.",
  7: "##### ....# ...#. ..#.. .#... .#... .#...",
  8: ".###. #...# #...# .###. #...# #...# .###.",
  9: ".###. #...# #...# .#### ....# ...#. .##..",
  " ": "..... ..... ..... ..... ..... ..... .....",
  ".": "..... ..... ..... ..... ..... .##.. .##..",
  ":": "..... .##.. .##.. ..... .##.. .##.. .....",
  "-": "..... ..... ..... .###. ..... ..... .....",
  "/": "....# ....# ...#. ..#.. .#... #.... #....",
};

/** Writes a line of text with its upper left corner at (x, y); a character without a glyph is drawn as a full cell. */
export function drawText(
  raster: Raster,
  text: string,
  at: { readonly x: number; readonly y: number; readonly scale: number },
  colour: readonly [number, number, number],
): void {
  Array.from(text.toUpperCase()).forEach((character, index) => {
    const rows = (glyphs[character] ?? Array.from({ length: height }, () => "#####").join(" ")).split(" ");
    rows.forEach((row, dy) => {
      Array.from(row).forEach((ink, dx) => {
        if (ink !== "#") return;
        const x = at.x + (index * advance.x + dx) * at.scale;
        raster.fill({ x, y: at.y + dy * at.scale, width: at.scale, height: at.scale }, colour);
      });
    });
  });
}

/** Pixels that a line of text is wide, its trailing gap left out. */
export const textWidth = (text: string, scale: number): number =>
  Math.max(0, text.length * advance.x - 1) * scale;
