/** Pictures of the tasks' scenes: what moves in the physics moves in the picture, and a machine that cannot draw says so. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import t from "tap";
import type { Raster } from "../../../../src/lab/phase/storyboard/raster.js";
import { taskVocabulary } from "../../../../src/lab/phase/task-vocabulary.js";
import { WorldEnvironment } from "../../../../src/lab/learning/world/world-environment.js";
import { WorldRenderer } from "../../../../src/lab/learning/world/world-renderer.js";
import { experts } from "./experts.js";

/** Middle and number of the pixels that are clearly red: the block. */
function redArea({ pixels, width }: Raster): { x: number; y: number; count: number } {
  const found = { x: 0, y: 0, count: 0 };
  for (let at = 0; at < pixels.length; at += 3) {
    const [r = 0, g = 0, b = 0] = pixels.subarray(at, at + 3);
    if (r < 90 || g > r / 2.5 || b > r / 2.5) continue;
    found.x += (at / 3) % width;
    found.y += Math.floor(at / 3 / width);
    found.count++;
  }
  return { x: found.x / found.count, y: found.y / found.count, count: found.count };
}

t.test("a picture shows the block where it is, and rising when it is lifted", async (t) => {
  const environment = new WorldEnvironment(await taskVocabulary("BlockPick"), 1, true);
  const renderer = new WorldRenderer("BlockPick", 160, 120);
  const play = experts["BlockPick"]?.() ?? (() => []);
  let state = environment.reset(4);
  const start = environment.privileged.snapshot(0);
  const before = redArea(await renderer.render(start));
  t.ok(before.count > 20, `${before.count} red pixels`);
  t.same(
    (await renderer.render(start)).pixels,
    (await renderer.render(start)).pixels,
    "drawn alike each time",
  );
  let ended = false;
  while (!ended) {
    const out = environment.step(Float32Array.from(play(state)));
    state = out.observations;
    ended = out.terminals[0] === 1 || out.truncations[0] === 1;
  }
  const after = redArea(await renderer.render(environment.privileged.snapshot(0)));
  t.ok(after.count > 20 && after.y < before.y - 5, `from row ${before.y} to ${after.y}`);
  await t.rejects(renderer.render(new Float64Array(3)), { code: "COMMAND_INVALID" });
  environment.close();
  renderer.close();
});

t.test("without EGL the error says what to install", async (t) => {
  const module = new URL("../../../../src/lab/learning/world/world-renderer.js", import.meta.url);
  const program = `const { WorldRenderer } = await import(${JSON.stringify(fileURLToPath(module))});
    const renderer = new WorldRenderer("BlockPick", 64, 64);
    await renderer.render(new Float64Array(1)).then(() => console.log("drawn"), (e) => console.log(e.code, e.message));`;
  // The loader of EGL finds no driver.
  const env = { ...process.env, __EGL_VENDOR_LIBRARY_FILENAMES: "/nonexistent.json" };
  const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { env });
  const { stdout } = await run;
  t.match(stdout, /^RENDERING_UNAVAILABLE .*libegl1/);
});
