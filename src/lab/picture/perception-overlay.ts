/** Frames with the needle drawn in as it was found. */
import type { NeedleEstimate } from "../../cell/native.js";
import { Canvas, type GreyImage, type Point } from "./canvas.js";

export interface Perceived {
  readonly frame: GreyImage;
  readonly needle: NeedleEstimate;
}

/** Widest panel, px: larger frames are reduced to it. */
const panelPx = 1024;
const gapPx = 8;

/** One panel a frame, side by side: shank edges as found, tip as a cross, and in words what was measured. */
export function perceptionOverlay(views: readonly Perceived[]): Canvas {
  const zooms = views.map(({ frame }) => Math.min(1, panelPx / frame.width));
  const sizes = views.map(({ frame }, i) => {
    const zoom = zooms[i] ?? 1;
    return { width: Math.round(frame.width * zoom), height: Math.round(frame.height * zoom) };
  });
  const width = sizes.reduce((sum, size) => sum + size.width, 0) + gapPx * (views.length - 1);
  const canvas = new Canvas(width, Math.max(...sizes.map(({ height }) => height)));
  let left = 0;
  for (const [i, { frame, needle }] of views.entries()) {
    const size = sizes[i];
    if (size === undefined) continue;
    const box = { x: left, y: 0, ...size };
    const at = canvas.frame(frame, [(frame.width - 1) / 2, (frame.height - 1) / 2], zooms[i] ?? 1, box);
    if (needle.found) {
      const tip: Point = [needle.tipX, needle.tipY];
      const [dx, dy] = [needle.directionX, needle.directionY];
      for (const side of [-1, 1]) {
        const aside = side * (needle.widthPx / 2 + 6);
        const edge = (up: number): Point => [tip[0] - dy * aside - dx * up, tip[1] + dx * aside - dy * up];
        canvas.line(at(edge(20)), at(edge(2 * frame.height)), "tip", { thickness: 1, dash: 3, gap: 5, box });
      }
      canvas.cross(at(tip), 8, 22, "tip", { box });
      canvas.label(left + 8, 8, `tip ${tip[0].toFixed(1)}, ${tip[1].toFixed(1)} px`);
      canvas.label(left + 8, 34, `edge sigma ${needle.edgeSigmaPx.toFixed(2)} px`);
    } else canvas.label(left + 8, 8, `no needle: ${needle.reason.toLowerCase()}`);
    left += size.width + gapPx;
  }
  return canvas;
}
