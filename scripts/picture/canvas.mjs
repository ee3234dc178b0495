/**
 * A small indexed picture: grey levels with coloured marks and text, written as PNG with nothing but zlib. Grey levels are
 * kept in steps, because the noise of a sensor is most of the size of its picture.
 */
import { deflateSync } from "node:zlib";
import { glyph, glyphHeight, glyphWidth } from "./font.mjs";

/** Grey levels of the palette; the colours come behind them. */
const greys = 96;
const gain = 1.7;

export const colours = {
  tip: [255, 60, 30],
  axis: [30, 150, 255],
  goal: [60, 230, 90],
  site: [255, 205, 50],
  text: [255, 255, 255],
  back: [24, 26, 30],
};
const names = Object.keys(colours);

export class Canvas {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.pixels = new Uint8Array(width * height).fill(this.index("back"));
  }

  index(name) {
    return greys + names.indexOf(name);
  }

  set(x, y, colour) {
    const [i, j] = [Math.round(x), Math.round(y)];
    if (i >= 0 && j >= 0 && i < this.width && j < this.height)
      this.pixels[j * this.width + i] = this.index(colour);
  }

  /** A grey level 0…255, brightened for the eye: frames are exposed for the camera's head room. */
  setGrey(x, y, level) {
    this.pixels[y * this.width + x] = Math.round(
      (Math.min(255, Math.max(0, gain * level)) / 255) * (greys - 1),
    );
  }

  /** A line, `thickness` px wide; `dash` and `gap` in px, 0 for a whole one. Ends are clipped to `box`. */
  line([ax, ay], [bx, by], colour, { thickness = 2, dash = 0, gap = 0, box } = {}) {
    const length = Math.hypot(bx - ax, by - ay);
    const steps = Math.max(1, Math.ceil(length * 2));
    const [nx, ny] = length > 0 ? [-(by - ay) / length, (bx - ax) / length] : [0, 0];
    for (let k = 0; k <= steps; k++) {
      if (dash > 0 && ((length * k) / steps) % (dash + gap) > dash) continue;
      const [x, y] = [ax + ((bx - ax) * k) / steps, ay + ((by - ay) * k) / steps];
      for (let w = 0; w < thickness; w++) {
        const aside = w - (thickness - 1) / 2;
        this.inside(x + aside * nx, y + aside * ny, colour, box);
      }
    }
  }

  circle([x, y], radius, colour, { thickness = 2, box } = {}) {
    const steps = Math.ceil(radius * 16);
    for (let k = 0; k < steps; k++) {
      const angle = (2 * Math.PI * k) / steps;
      for (let w = 0; w < thickness; w++)
        this.inside(x + (radius + w) * Math.cos(angle), y + (radius + w) * Math.sin(angle), colour, box);
    }
  }

  square([x, y], half, colour, options = {}) {
    const corners = [
      [x - half, y - half],
      [x + half, y - half],
      [x + half, y + half],
      [x - half, y + half],
    ];
    corners.forEach((corner, i) => this.line(corner, corners[(i + 1) % 4], colour, options));
  }

  /** A cross that leaves its middle free, so that what it marks stays visible. */
  cross([x, y], from, to, colour, options = {}) {
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ])
      this.line([x + from * dx, y + from * dy], [x + to * dx, y + to * dy], colour, options);
  }

  inside(x, y, colour, box) {
    if (box === undefined || (x >= box.x && y >= box.y && x < box.x + box.width && y < box.y + box.height))
      this.set(x, y, colour);
  }

  text(x, y, words, colour = "text", size = 2) {
    let at = x;
    for (const character of words) {
      for (const [i, j] of glyph(character))
        for (let v = 0; v < size; v++)
          for (let u = 0; u < size; u++) this.set(at + i * size + u, y + j * size + v, colour);
      at += (glyphWidth + 1) * size;
    }
    return at;
  }

  /** Words on a dark ground, for places where a frame lies below. */
  label(x, y, words, colour = "text", size = 2) {
    const width = words.length * (glyphWidth + 1) * size + 3 * size;
    for (let j = 0; j < (glyphHeight + 4) * size; j++)
      for (let i = 0; i < width; i++) this.set(x + i, y + j, "back");
    this.text(x + 2 * size, y + 2 * size, words, colour, size);
  }

  /** Draws `source` ({ pixels, width, height }), so that its point `centre` comes to the middle of `box`; `zoom` px a px. */
  frame(source, centre, zoom, box) {
    const toSource = (x, y) => [
      centre[0] + (x + 0.5 - box.x - box.width / 2) / zoom - 0.5,
      centre[1] + (y + 0.5 - box.y - box.height / 2) / zoom - 0.5,
    ];
    for (let y = box.y; y < box.y + box.height; y++)
      for (let x = box.x; x < box.x + box.width; x++)
        this.setGrey(
          x,
          y,
          zoom < 1 ? mean(source, ...toSource(x, y), 1 / zoom) : between(source, ...toSource(x, y)),
        );
    return ([u, v]) => [
      box.x + box.width / 2 - 0.5 + (u - centre[0]) * zoom,
      box.y + box.height / 2 - 0.5 + (v - centre[1]) * zoom,
    ];
  }

  png() {
    const palette = Buffer.alloc(3 * (greys + names.length));
    for (let i = 0; i < greys; i++) palette.fill(Math.round((255 * i) / (greys - 1)), 3 * i, 3 * i + 3);
    names.forEach((name, i) => palette.set(colours[name], 3 * (greys + i)));
    const rows = Buffer.alloc((this.width + 1) * this.height);
    for (let y = 0; y < this.height; y++)
      rows.set(this.pixels.subarray(y * this.width, (y + 1) * this.width), y * (this.width + 1) + 1);
    const head = Buffer.alloc(13);
    head.writeUInt32BE(this.width, 0);
    head.writeUInt32BE(this.height, 4);
    head.set([8, 3, 0, 0, 0], 8); // 8 bits, palette
    return Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk("IHDR", head),
      chunk("PLTE", palette),
      chunk("IDAT", deflateSync(rows, { level: 9 })),
      chunk("IEND", Buffer.alloc(0)),
    ]);
  }
}

/** Mean over a square of `side` source pixels. */
function mean({ pixels, width, height }, x, y, side) {
  let sum = 0;
  let count = 0;
  for (let v = Math.ceil(y - side / 2); v < y + side / 2; v++)
    for (let u = Math.ceil(x - side / 2); u < x + side / 2; u++)
      if (u >= 0 && v >= 0 && u < width && v < height) {
        sum += pixels[v * width + u];
        count++;
      }
  return count === 0 ? 0 : sum / count;
}

/** Bilinear; black outside. */
function between({ pixels, width, height }, x, y) {
  const [i, j] = [Math.floor(x), Math.floor(y)];
  if (i < 0 || j < 0 || i + 1 >= width || j + 1 >= height) return 0;
  const [fx, fy] = [x - i, y - j];
  const at = (u, v) => pixels[v * width + u];
  return (
    (at(i, j) * (1 - fx) + at(i + 1, j) * fx) * (1 - fy) +
    (at(i, j + 1) * (1 - fx) + at(i + 1, j + 1) * fx) * fy
  );
}

const crcTable = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let crc = 0xffffffff;
  for (const byte of body) crc = (crcTable[(crc ^ byte) & 0xff] ^ (crc >>> 8)) >>> 0;
  const result = Buffer.alloc(body.length + 8);
  result.writeUInt32BE(data.length, 0);
  result.set(body, 4);
  result.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4);
  return result;
}
