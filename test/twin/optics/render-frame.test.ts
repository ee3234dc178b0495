import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { twinAddon } from "../../../src/twin/native.js";
import { packScene } from "../../../src/twin/scene-layout.js";
import { flatScene, metresPerPixel, needleState } from "./scene.js";

const scene = flatScene(["127.0.0.2", "127.0.0.3"]);

/** Mean grey of a square of pixels about (x, y). */
function grey(frame: Uint8Array, x: number, y: number): number {
  let sum = 0;
  for (let j = -3; j <= 3; j++) for (let i = -3; i <= 3; i++) sum += frame[(y + j) * 2048 + x + i] ?? NaN;
  return sum / 49;
}

t.test("a frame shows the needle where it is projected", async (t) => {
  const { renderFrame } = twinAddon();
  const frame = await renderFrame(scene, 0, packScene(needleState()), 10_000, 0, 1);
  t.equal(frame.length, 2048 * 2048);
  // Reflectance 0.5 gives 110 at the proper exposure; 0.12 with a mirrored line gives less than half.
  t.ok(Math.abs(grey(frame, 700, 900) - 110) < 1, "tissue");
  t.ok(grey(frame, 1024, 950) < 70, "needle, above the focus point");
  t.ok(Math.abs(grey(frame, 1024, 1060) - 110) < 1, "nothing below it");
  // 20 µm of half width; 60 px up the blur is still small.
  const edge = Math.round(2e-5 / metresPerPixel);
  t.ok(Math.abs(grey(frame, 1024 + edge + 8, 964) - 110) < 2, "beside its right edge");
});

t.test("the same arguments give the same frame; exposure and noise change it", async (t) => {
  const { renderFrame } = twinAddon();
  const state = packScene(needleState());
  const first = await renderFrame(scene, 0, state, 10_000, 0, 7);
  t.equal(Buffer.compare(first, await renderFrame(scene, 0, state, 10_000, 0, 7)), 0);
  t.not(Buffer.compare(first, await renderFrame(scene, 0, state, 10_000, 0, 8)), 0);
  const darker = await renderFrame(scene, 0, state, 5000, 0, 7);
  t.ok(Math.abs(grey(darker, 700, 900) - 58) < 1, "6 + 104 / 2");
});

t.test("what cannot be drawn is refused", async (t) => {
  const { renderFrame } = twinAddon();
  const state = packScene(needleState());
  await t.rejects(renderFrame('{"seed": 1}', 0, state, 10_000, 0, 1), {
    code: "CONFIG_INVALID",
    message: /cameras/,
  });
  await t.rejects(renderFrame(scene, 2, state, 10_000, 0, 1), { message: /no camera 2/ });
  await t.rejects(renderFrame(scene, 0, state.slice(0, 20), 10_000, 0, 1), { code: "CONFIG_INVALID" });
  t.throws(() => void renderFrame(scene, 0, state, NaN, 0, 1), { name: "TypeError", message: /exposureUs/ });
  t.throws(() => void renderFrame(scene, 0, [] as unknown as Float64Array, 10_000, 0, 1), {
    name: "TypeError",
    message: /Float64Array/,
  });
});

t.test("a scene has one writer at a time, and its file is its owner's", (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-scene-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "state.bin");
  const { SceneWriter } = twinAddon();
  const writer = new SceneWriter(file);
  t.notOk(existsSync(file), "nothing happens before the first write");
  const state = packScene(needleState());
  writer.write(state);
  t.equal(statSync(file).mode & 0o777, 0o600);
  const second = new SceneWriter(file);
  t.throws(() => second.write(state), { code: "CONFIG_INVALID", message: /another writer/ });
  writer.close();
  second.write(state);
  second.close();
  const broken = state.slice();
  broken[40] = Infinity;
  t.throws(() => second.write(broken), { code: "CONFIG_INVALID", message: /index 40/ });
  t.throws(() => new SceneWriter(7 as unknown as string), { name: "TypeError" });
  t.end();
});
