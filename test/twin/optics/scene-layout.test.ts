import t from "tap";
import { twinAddon } from "../../../src/twin/native.js";
import { packScene, sceneLayout, type SceneState } from "../../../src/twin/scene-layout.js";
import { needleState } from "./scene.js";

t.test("the layout is the one that the native side was built with", (t) => {
  t.strictSame({ ...twinAddon().sceneLayout }, { ...sceneLayout });
  t.end();
});

t.test("a state lies where the layout says", (t) => {
  const state: SceneState = {
    monotonicNs: 12,
    light: 0.9,
    tissueShiftM: [1, 2, 3],
    cameras: [
      { focusM: 4, wanderM: [5, 6], online: true, frozen: false },
      { focusM: 7, wanderM: [8, 9], online: false, frozen: true },
    ],
    segments: [
      { a: [10, 11, 12], b: [13, 14, 15], radiusA: 16, radiusB: 17, reflectance: 0.2, kind: "loop" },
      { a: [20, 21, 22], b: [23, 24, 25], radiusA: 26, radiusB: 27, reflectance: 0.3, kind: "cartridge" },
    ],
  };
  const flat = packScene(state);
  t.equal(flat.length, 60);
  t.strictSame([...flat.slice(0, 8)], [12, 0.9, 1, 2, 3, 2, 0, 0]);
  t.strictSame([...flat.slice(8, 13)], [4, 5, 6, 1, 0]);
  t.strictSame([...flat.slice(16, 21)], [7, 8, 9, 0, 1]);
  t.strictSame([...flat.slice(40, 50)], [10, 11, 12, 13, 14, 15, 16, 17, 0.2, 2]);
  t.strictSame([...flat.slice(50, 60)], [20, 21, 22, 23, 24, 25, 26, 27, 0.3, 4]);
  t.end();
});

t.test("a mounted target lies behind all segments", (t) => {
  const plate = { columns: 10, rows: 7, pitchM: 1e-4, white: 0.75, black: 0.08 };
  const flat = packScene({
    ...needleState(),
    plate: { origin: [30, 31, 32], uAxis: [0, 1, 0], vAxis: [0, 0, 1], ...plate },
  });
  t.equal(flat[6], 1);
  t.strictSame([...flat.slice(1960)], [30, 31, 32, 0, 1, 0, 0, 0, 1, 10, 7, 1e-4, 0.75, 0.08]);
  t.end();
});

t.test("what has no place or no value is refused", (t) => {
  const state = needleState();
  const [segment] = state.segments;
  if (segment === undefined) throw new Error("the state has a needle");
  t.throws(() => packScene({ ...state, light: NaN }), { code: "UNIT_NOT_FINITE" });
  t.throws(() => packScene({ ...state, segments: Array.from({ length: 193 }, () => segment) }), {
    code: "INTERNAL",
  });
  t.end();
});
