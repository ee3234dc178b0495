import t from "tap";
import { matchCarried, vertex } from "../../../src/agent/skills/carried-match.js";
import type { Patch, PatchMatch } from "../../../src/cell/native.js";

t.test(
  "the vertex of the parabola through three correlations, and no farther than twice the step",
  async (t) => {
    // 0.99 − (x − 0.01)² at −0.04, 0, 0.04.
    const score = (x: number): number => 0.99 - (x - 0.01) ** 2;
    t.ok(Math.abs(vertex(score(-0.04), score(0), score(0.04), 0.04) - 0.01) < 1e-12);
    t.equal(vertex(0.9, 0.95, 0.9, 0.04), 0);
    t.ok(Math.abs(vertex(0.7, 0.8, 0.899, 0.04) - 0.08) < 1e-12, "nearly straight: bounded");
    t.equal(vertex(0.75, 0.5, 0.25, 0.04), -0.04, "straight: one step towards the better side");
  },
);

t.test("map and place are found where both views agree best", async (t) => {
  const drawn = [-0.5, 1.51, -0.497, -0.5] as const;
  const truth = [-0.533, 1.526, -0.509, -0.516] as const;
  // The patch stands for its map; the place is drawn aside by what the first entry of the map is off.
  const maps = new Map<Patch, readonly number[]>();
  const radii: number[] = [];
  const cut = (map: readonly [number, number, number, number]): Patch => {
    const patch: Patch = { width: 8, height: 8, pixels: new Uint8Array(64) };
    maps.set(patch, map);
    return patch;
  };
  const find = async (patch: Patch, _near: unknown, radius: number): Promise<PatchMatch> => {
    radii.push(radius);
    const off = (maps.get(patch) ?? []).map((value, i) => value - (truth[i] ?? NaN));
    const score = 0.99 - 5 * off.reduce((sum, value) => sum + value * value, 0);
    return { found: true, x: 700 + 12 * (off[0] ?? NaN), y: 900, score, distinctness: 0.5 };
  };
  const { match, map } = await matchCarried(cut, find, drawn, [690, 890]);
  for (const [i, value] of map.entries()) t.ok(Math.abs(value - (truth[i] ?? NaN)) < 1e-3, `entry ${i}`);
  t.ok(Math.abs((match?.x ?? NaN) - 700) < 0.02, "0.4 px aside with the drawn map");
  t.equal(radii[0], 70);
  t.ok(
    radii.slice(1).every((radius) => radius < 10),
    "then only around the place",
  );
});

t.test("a map that no drawing is off by is no match, however well it correlates", async (t) => {
  const maps = new Map<Patch, readonly number[]>();
  const { match } = await matchCarried(
    (map) => {
      const patch: Patch = { width: 8, height: 8, pixels: new Uint8Array(64) };
      maps.set(patch, map);
      return patch;
    },
    async (patch) => {
      const off = (maps.get(patch)?.[1] ?? NaN) - 1.63;
      return { found: true, x: 1, y: 1, score: 0.97 - off * off, distinctness: 0.5 };
    },
    [-0.5, 1.51, -0.497, -0.5],
    [0, 0],
  );
  t.equal(match, undefined);
});

t.test("what the drawn map does not find stays unfound", async (t) => {
  let looks = 0;
  const { match } = await matchCarried(
    () => ({ width: 8, height: 8, pixels: new Uint8Array(64) }),
    async () => {
      looks++;
      return { found: false, x: 0, y: 0, score: 0.1, distinctness: 0 };
    },
    [1, 0, 0, 1],
    [0, 0],
  );
  t.equal(match, undefined);
  t.equal(looks, 1);
});
