/** `surgiclaw perceive` on hand-drawn images with known needles. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";

const size = 800;
const tip = { x: 420, y: 560 };
const tilt = 0.08;

/** The share of a pixel that lies in a bar 34 px wide with a blurred edge (sigma about 1.2 px) and a pointed end. */
function cover(x: number, y: number): number {
  const [dx, dy] = [Math.sin(tilt), Math.cos(tilt)];
  const along = (x - tip.x) * dx + (y - tip.y) * dy;
  const aside = Math.abs((x - tip.x) * dy - (y - tip.y) * dx);
  // A ground tip: ball of 5 px, cone to 10 px half width at 11 px, taper to 17 px at 175 px.
  const up = -along;
  const half =
    up < 0
      ? -10
      : up < 5
        ? Math.sqrt(Math.max(0, 25 - (5 - up) ** 2))
        : up < 11
          ? 5 + (5.2 * (up - 5)) / 6
          : 10.2 + 6.8 * Math.min(1, up / 175);
  return 1 / (1 + Math.exp((-1.6 * (half - aside)) / 1.2));
}

/** 12-bit PGM, most significant byte first; textured with a fixed pattern. */
function drawing(needle: boolean): Buffer {
  const head = Buffer.from(`P5\n${size} ${size}\n4095\n`, "latin1");
  const body = Buffer.alloc(2 * size * size);
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const texture = 90 * Math.sin(x / 9.1) * Math.cos(y / 7.7) + 60 * Math.sin((x + 2 * y) / 23);
      const tissue = 2100 + texture;
      const level = needle ? tissue + (600 - tissue) * cover(x, y) : tissue;
      body.writeUInt16BE(Math.round(level), 2 * (y * size + x));
    }
  return Buffer.concat([head, body]);
}

async function perceive(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  return new Promise((resolve) => {
    const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
    execFile(process.execPath, [main, "perceive", ...args], (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err });
    });
  });
}

interface Answer {
  readonly images: readonly {
    readonly width: number;
    readonly bits: number;
    readonly metrics: { readonly mean: number };
    readonly needle: {
      readonly found: boolean;
      readonly reason: string;
      readonly tipX: number;
      readonly tipY: number;
      readonly directionX: number;
      readonly directionY: number;
    };
  }[];
  readonly usable: boolean | "unknown";
  readonly needleVisible: boolean | "unknown";
}

const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-perceive-"));
t.teardown(() => rm(folder, { recursive: true }));
const withNeedle = path.join(folder, "needle.pgm");
const without = path.join(folder, "tissue.pgm");
await writeFile(withNeedle, drawing(true));
await writeFile(without, drawing(false));

t.test("finds the needle of a 12-bit image and draws it", async (t) => {
  const overlay = path.join(folder, "overlay.png");
  const { code, out } = await perceive(withNeedle, "--json", "--bits", "12", "--overlay", overlay);
  t.equal(code, 0);
  const answer = JSON.parse(out) as Answer;
  const [image] = answer.images;
  t.equal(image?.width, size);
  t.equal(image?.bits, 12);
  t.equal(image?.needle.found, true, image?.needle.reason ?? "no image");
  t.ok(Math.abs((image?.needle.tipX ?? NaN) - tip.x) < 1, `tip x ${image?.needle.tipX}`);
  t.ok(Math.abs((image?.needle.tipY ?? NaN) - tip.y) < 2.5, `tip y ${image?.needle.tipY}`);
  const angle = Math.atan2(image?.needle.directionX ?? NaN, image?.needle.directionY ?? NaN);
  t.ok(Math.abs(angle - tilt) < 0.003, `angle ${angle}`);
  const png = await readFile(overlay);
  t.same([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  t.equal(png.readUInt32BE(16), size, "one panel of the frame's width");
});

t.test("two views must both show it", async (t) => {
  const { code, out } = await perceive(withNeedle, without, "--json");
  t.equal(code, 0);
  const answer = JSON.parse(out) as Answer;
  t.equal(answer.images.length, 2);
  t.equal(answer.images[1]?.needle.found, false);
  t.equal(answer.needleVisible, false);
  t.equal(answer.usable, false);
});

t.test("says what is wrong with a file", async (t) => {
  const missing = await perceive(path.join(folder, "none.png"));
  t.equal(missing.code, 6);
  t.match(missing.err, /4020 IMAGE_UNREADABLE.*none\.png/);
  const broken = path.join(folder, "broken.png");
  await writeFile(broken, "no picture");
  const refused = await perceive(broken, "--json");
  t.equal(refused.code, 6);
  t.match(refused.out, /"code":"IMAGE_UNREADABLE"/);
  t.equal((await perceive(withNeedle, "--bits", "7")).code, 2);
});
