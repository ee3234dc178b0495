import t from "tap";
import { outlineContrast, type OutlineView } from "../../../src/agent/skills/ring-on-hook.js";

const size = 112;

/** Grey everywhere, then each `paint` may change a pixel. */
function patch(
  background: number,
  ...paint: ((x: number, y: number) => number | undefined)[]
): {
  width: number;
  height: number;
  pixels: Uint8Array;
} {
  const pixels = Uint8Array.from({ length: size * size }, (_, i) => {
    const x = i % size;
    const y = Math.floor(i / size);
    return paint.reduce((level, brush) => brush(x, y) ?? level, background);
  });
  return { width: size, height: size, pixels };
}

// A ring of half axes 12 and 24 px that stands to the right of a vertical shank of 20 px, which ends 40 px below it.
const view: OutlineView = {
  centre: [66, 45],
  a: [12, 0],
  b: [0, 24],
  tip: [50, 85],
  direction: [0, 1],
  halfShankPx: 10,
};

const onRing =
  (level: number) =>
  (x: number, y: number): number | undefined =>
    Math.abs(Math.hypot((x - 66) / 12, (y - 45) / 24) - 1) * 12 < 2.5 ? level : undefined;
const shank = (x: number, y: number): number | undefined =>
  Math.abs(x - 50) <= 10 && y <= 85 ? 20 : undefined;

t.test("a wire 40 % darker than its surroundings scores 0.4, shank or no shank", async (t) => {
  t.ok(Math.abs(outlineContrast(patch(150, onRing(90)), view) - 0.4) < 0.02);
  t.ok(Math.abs(outlineContrast(patch(150, onRing(90), shank), view) - 0.4) < 0.02);
});

t.test("a shank alone scores nothing, nor does a slope of the light", async (t) => {
  t.ok(Math.abs(outlineContrast(patch(150, shank), view)) < 0.02);
  const slope = patch(0, (x) => 100 + x);
  t.ok(Math.abs(outlineContrast(slope, view)) < 0.1);
});

t.test("a bright ring is not a wire", async (t) => {
  t.ok(outlineContrast(patch(100, onRing(150), shank), view) < 0);
});

t.test("where too little of the outline stands free nothing is said", async (t) => {
  t.equal(outlineContrast(patch(150, onRing(90)), { ...view, halfShankPx: 60 }), 0);
  t.equal(outlineContrast(patch(150, onRing(90)), { ...view, centre: [-80, 45] }), 0, "outside the patch");
});
