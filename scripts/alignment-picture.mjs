/**
 * Draws what the microscopes saw in a finished recording: both views of an accepted alignment with what was found and
 * what was wanted (alignment.png), and hook and loop before and after the pickup (pickup.png). Needle and tip are found
 * anew in the stored frames by the native geometry; goal and site come from the audit log, the planned axis from the
 * procedure.
 *   node scripts/alignment-picture.mjs RECORDING [FOLDER]        FOLDER: docs/images
 */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const dist = process.env.SURGICLAW_DIST ?? path.join(root, "dist");
const { Canvas } = await import(path.join(dist, "src/lab/picture/canvas.js"));
const { cellAddon } = await import(path.join(dist, "src/cell/native.js"));
const { readAuditLog } = await import(path.join(dist, "src/record/audit-verify.js"));
const { readCellFile } = await import(path.join(dist, "src/base/cell-file.js"));

const [recording, folder = path.join(root, "docs", "images")] = process.argv.slice(2);
if (recording === undefined) {
  console.error("usage: node scripts/alignment-picture.mjs RECORDING [FOLDER]");
  process.exit(2);
}

const { good: entries } = await readAuditLog(path.join(recording, "audit.jsonl"));
const procedure = parse(await readFile(path.join(recording, "procedure.yaml"), "utf8"));
const cell = await readCellFile(path.join(root, "calibration", "reference-cell.yaml"));
const views = cell.microscopes.map((microscope) => microscope.name);
const metresPerPixel = cell.microscopes[0].metresPerPixel;

/** The stored frames with a label, one of each view, first come first. */
function framesLabelled(label, after = 0) {
  return views.map((view) => {
    const entry = entries.find(
      ({ seq, action, data }) =>
        seq > after && action === "frame.stored" && data.observationId === label && data.camera === view,
    );
    if (entry === undefined) throw new Error(`${recording}: no frame of ${view} is labelled ${label}`);
    return path.resolve(recording, entry.data.file);
  });
}

/** Reads a stored frame through the grabber and calls `use` with its pixels and the needle found in it. */
async function withStoredFrame(file, index, use) {
  const { Camera, geometry } = cellAddon();
  const only = await mkdtemp(path.join(tmpdir(), "surgiclaw-picture-"));
  const { widthPx: width, heightPx: height, name } = cell.microscopes[index];
  await symlink(file, path.join(only, path.basename(file)));
  const camera = new Camera({
    ...{ name, folder: only, width, height },
    ...{ frameRate: 10, packetSize: 9000, ringSize: 6, mode: "newest" },
  });
  try {
    await camera.open();
    await camera.start();
    const frame = await camera.next(0, 10);
    try {
      const needle = await geometry.findNeedle(frame);
      if (!needle.found) throw new Error(`${file}: no needle: ${needle.reason}`);
      return use(frame, needle);
    } finally {
      frame.release();
    }
  } finally {
    await camera.close();
    await rm(only, { recursive: true });
  }
}

/** A bar of a known length in the lower right corner of a panel. */
function scaleBar(canvas, box, lengthM, zoom) {
  const length = (lengthM / metresPerPixel) * zoom;
  const words = `${Math.round(lengthM * 1e6)} µm`;
  const width = words.length * 12 + 6;
  const x = box.x + box.width - Math.max(length, width) - 12;
  const y = box.y + box.height - 14;
  canvas.label(x, y - 26, words);
  canvas.line([x, y], [x + length, y], "text", { thickness: 4 });
}

const side = 512;
const gap = 8;
const brighter = 1.7;

async function alignmentPicture() {
  const accepted = entries.find(({ data }) => data?.stage === "alignment accepted");
  if (accepted === undefined) throw new Error(`${recording}: no alignment was accepted`);
  const { target, goalsPx, sitePx, angleRad, errorM } = accepted.data.measurements;
  const { picks } = procedure.targets.find(({ id }) => id === target);
  const files = framesLabelled("aligned", accepted.seq);
  const closeHeight = 420;
  const legendHeight = 64;
  const canvas = new Canvas(2 * side + gap, side + gap + closeHeight + legendHeight, brighter);
  for (const index of [0, 1]) {
    await withStoredFrame(files[index], index, (frame, needle) => {
      const tip = [needle.tipX, needle.tipY];
      const goal = goalsPx.slice(2 * index, 2 * index + 2);
      const site = sitePx.slice(2 * index, 2 * index + 2);
      const [ax, ay] = picks[index].axis;
      const draw = (box, centre, zoom, marks) => {
        const at = canvas.frame(frame, centre, zoom, box);
        const along = (from, [dx, dy], length) => [from[0] + dx * length, from[1] + dy * length];
        const direction = [needle.directionX, needle.directionY];
        // The shank as found, beside its edges so that it stays visible; the planned axis from far above to the site.
        for (const s of [-1, 1]) {
          const aside = (needle.widthPx / 2 + 6) * s;
          const edge = [tip[0] - direction[1] * aside, tip[1] + direction[0] * aside];
          canvas.line(at(along(edge, direction, -1400)), at(along(edge, direction, -20)), "tip", {
            ...{ thickness: 1, dash: 3, gap: 5, box },
          });
        }
        canvas.line(at(along(site, [ax, ay], -1500)), at(site), "axis", {
          ...{ thickness: 2, dash: 9, gap: 5, box },
        });
        canvas.circle(at(goal), marks.goal, "goal", { box });
        canvas.cross(at(tip), marks.goal + 4, marks.goal + 14, "tip", { box });
        canvas.square(at(site), marks.site, "site", { box });
      };
      const left = index * (side + gap);
      const whole = { x: left, y: 0, width: side, height: side };
      const zoom = side / frame.width;
      draw(whole, [frame.width / 2, frame.height / 2], zoom, { goal: 7, site: 7 });
      canvas.label(left + 8, 8, `view ${index + 1}`);
      scaleBar(canvas, whole, 5e-4, zoom);
      const close = { x: left, y: side + gap, width: side, height: closeHeight };
      draw(close, [(tip[0] + site[0]) / 2, (tip[1] + site[1]) / 2 - 20], 1, { goal: 12, site: 14 });
      canvas.label(left + 8, close.y + 8, `view ${index + 1}, pixel by pixel`);
      scaleBar(canvas, close, 1e-4, 1);
    });
  }
  const y = side + gap + closeHeight + 10;
  let x = 10;
  for (const [words, colour] of [
    ["tip and needle as found", "tip"],
    ["goal of the tip", "goal"],
    ["planned axis", "axis"],
    ["site at rest", "site"],
  ])
    x = canvas.text(x, y, words, colour) + 28;
  const errors = errorM.map((error) => (error * 1e6).toFixed(1)).join(" and ");
  const degrees = ((angleRad * 180) / Math.PI).toFixed(2);
  canvas.text(10, y + 26, `target ${target}: seen ${errors} µm from the goal, ${degrees} deg from the axis`);
  return canvas;
}

async function pickupPicture() {
  const height = 330;
  const canvas = new Canvas(2 * side + gap, 2 * height + gap, brighter);
  const moments = [
    {
      label: "pickup",
      words: "needle and loop",
      zoom: 1.25,
      offsets: [
        [-120, 0],
        [-120, -70],
      ],
    },
    {
      label: "lifted",
      words: "loop on the hook",
      zoom: 2,
      offsets: [
        [0, -20],
        [0, -20],
      ],
    },
  ];
  for (const [row, { label, words, zoom, offsets }] of moments.entries()) {
    const files = framesLabelled(label);
    for (const index of [0, 1]) {
      await withStoredFrame(files[index], index, (frame, needle) => {
        const [dx, dy] = offsets[index];
        const box = { x: index * (side + gap), y: row * (height + gap), width: side, height };
        canvas.frame(frame, [needle.tipX + dx, needle.tipY + dy], zoom, box);
        canvas.label(box.x + 8, box.y + 8, `view ${index + 1}: ${words}`);
        scaleBar(canvas, box, 5e-5, zoom);
      });
    }
  }
  return canvas;
}

await mkdir(folder, { recursive: true });
for (const [name, canvas] of [
  ["alignment.png", await alignmentPicture()],
  ["pickup.png", await pickupPicture()],
]) {
  const file = path.join(folder, name);
  const bytes = canvas.png();
  await writeFile(file, bytes);
  console.log(`${file}: ${canvas.width} × ${canvas.height}, ${Math.round(bytes.length / 1000)} kB`);
}
