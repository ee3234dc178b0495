/**
 * A small indexed picture: grey levels with coloured marks and text, written as PNG with nothing but zlib. Grey levels are
 * kept in steps, because the noise of a sensor is most of the size of its picture.
 */
import { deflateSync } from "node:zlib";
import { glyph, glyphHeight, glyphWidth } from "./font.js";

/** Grey levels of the palette; the colours come behind them. */
const greys = 96;

const colours = {
  tip: [255, 60, 30],
  axis: [30, 150, 255],
  goal: [60, 230, 90],
  site: [255, 205, 50],
  text: [255, 255, 255],
  back: [24, 26, 30],
} as const;
export type Colour = keyof typeof colours;
const names = Object.keys(colours) as Colour[];

export type Point = readonly [number, number];

/** A rectangle of the picture, px. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A Mono8 image, row-major without gaps. */
export interface GreyImage {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface StrokeOptions {
  /** px. */
  readonly thickness?: number;
  /** Length of the dashes and of the gaps between them, px; dash 0 for a whole line. */
  readonly dash?: number;
  readonly gap?: number;
  /** What lies outside is not drawn. */
  readonly box?: Box | undefined;
}

export class Canvas {
  private readonly pixels: Uint8Array;

  constructor(
    readonly width: number,
    readonly height: number,
    /** Brightens frames for the eye: they are exposed for the camera's head room. */
    private readonly gain = 1,
  ) {
    this.pixels = new Uint8Array(width * height).fill(this.index("back"));
  }

  private index(name: Colour): number {
    return greys + names.indexOf(name);
  }

  set(x: number, y: number, colour: Colour): void {
    const [i, j] = [Math.round(x), Math.round(y)];
    if (i >= 0 && j >= 0 && i < this.width && j < this.height)
      this.pixels[j * this.width + i] = this.index(colour);
  }

  /** A grey level 0…255. */
  setGrey(x: number, y: number, level: number): void {
    this.pixels[y * this.width + x] = Math.round(
      (Math.min(255, Math.max(0, this.gain * level)) / 255) * (greys - 1),
    );
  }

  line([ax, ay]: Point, [bx, by]: Point, colour: Colour, options: StrokeOptions = {}): void {
    const { thickness = 2, dash = 0, gap = 0, box } = options;
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

  circle([x, y]: Point, radius: number, colour: Colour, { thickness = 2, box }: StrokeOptions = {}): void {
    const steps = Math.ceil(radius * 16);
    for (let k = 0; k < steps; k++) {
      const angle = (2 * Math.PI * k) / steps;
      for (let w = 0; w < thickness; w++)
        this.inside(x + (radius + w) * Math.cos(angle), y + (radius + w) * Math.sin(angle), colour, box);
    }
  }

  square([x, y]: Point, half: number, colour: Colour, options: StrokeOptions = {}): void {
    const corners: readonly Point[] = [
      [x - half, y - half],
      [x + half, y - half],
      [x + half, y + half],
      [x - half, y + half],
    ];
    corners.forEach((corner, i) => {
      this.line(corner, corners[(i + 1) % 4] ?? corner, colour, options);
    });
  }

  /** A cross that leaves its middle free, so that what it marks stays visible. */
  cross([x, y]: Point, from: number, to: number, colour: Colour, options: StrokeOptions = {}): void {
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ] as const)
      this.line([x + from * dx, y + from * dy], [x + to * dx, y + to * dy], colour, options);
  }

  private inside(x: number, y: number, colour: Colour, box: Box | undefined): void {
    if (box === undefined || (x >= box.x && y >= box.y && x < box.x + box.width && y < box.y + box.height))
      this.set(x, y, colour);
  }

  /** Writes words in letters of `size` px a dot; returns where the next one would begin. */
  text(x: number, y: number, words: string, colour: Colour = "text", size = 2): number {
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
  label(x: number, y: number, words: string, colour: Colour = "text", size = 2): void {
    const width = words.length * (glyphWidth + 1) * size + 3 * size;
    for (let j = 0; j < (glyphHeight + 4) * size; j++)
      for (let i = 0; i < width; i++) this.set(x + i, y + j, "back");
    this.text(x + 2 * size, y + 2 * size, words, colour, size);
  }

  /**
   * Draws `source` so that its point `centre` comes to the middle of `box`, `zoom` px a px; returns the map from its
   * pixels to those of the picture.
   */
  frame(source: GreyImage, centre: Point, zoom: number, box: Box): (pixel: Point) => Point {
    const toSource = (x: number, y: number): readonly [number, number] => [
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

  png(): Buffer {
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
function mean({ pixels, width, height }: GreyImage, x: number, y: number, side: number): number {
  let sum = 0;
  let count = 0;
  for (let v = Math.ceil(y - side / 2); v < y + side / 2; v++)
    for (let u = Math.ceil(x - side / 2); u < x + side / 2; u++)
      if (u >= 0 && v >= 0 && u < width && v < height) {
        sum += pixels[v * width + u] ?? 0;
        count++;
      }
  return count === 0 ? 0 : sum / count;
}

/** Bilinear; black outside. */
function between({ pixels, width, height }: GreyImage, x: number, y: number): number {
  const [i, j] = [Math.floor(x), Math.floor(y)] as const;
  if (i < 0 || j < 0 || i + 1 >= width || j + 1 >= height) return 0;
  const [fx, fy] = [x - i, y - j] as const;
  const at = (u: number, v: number): number => pixels[v * width + u] ?? 0;
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

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let crc = 0xffffffff;
  for (const byte of body) crc = ((crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)) >>> 0;
  const result = Buffer.alloc(body.length + 8);
  result.writeUInt32BE(data.length, 0);
  result.set(body, 4);
  result.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4);
  return result;
}
