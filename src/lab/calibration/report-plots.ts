/** Plots of a calibration's residuals as SVG: fields of arrows, and deviations along an axis. Pure; no scripts, no style of a page. */
import type { CalibrationItem } from "../../base/calibration-file.js";

type Points = readonly { readonly at: readonly number[]; readonly off: readonly number[] }[];

const width = 420;
const height = 320;
const margin = { left: 64, right: 16, top: 30, bottom: 44 } as const;

/** 1, 2 or 5 times a power of ten, not above `value`. */
export function niceBelow(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const first = value / power;
  return (first >= 5 ? 5 : first >= 2 ? 2 : 1) * power;
}

interface Axis {
  readonly min: number;
  readonly max: number;
}

/** The range of values with some air; never empty. */
function rangeOf(values: readonly number[], share = 0.08): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const air = high > low ? share * (high - low) : Math.max(Math.abs(high), 1e-9) * 0.1;
  return { min: low - air, max: high + air };
}

/** Units as people read them: metres as mm or µm, according to the size. */
function readable(unit: string, size: number): { readonly factor: number; readonly name: string } {
  if (unit === "m") return size < 1e-3 ? { factor: 1e6, name: "µm" } : { factor: 1e3, name: "mm" };
  if (unit === "rad") return { factor: 1e3, name: "mrad" };
  return { factor: 1, name: unit };
}

const n = (value: number): string => value.toFixed(1);
const figure = (value: number): string => String(Number(value.toPrecision(3)));

function frame(
  title: string,
  x: Axis,
  y: Axis,
  labels: readonly [string, string],
  body: (px: (v: number) => number, py: (v: number) => number) => string,
  downwards = false,
): string {
  const [w, h] = [width - margin.left - margin.right, height - margin.top - margin.bottom];
  const px = (v: number): number => margin.left + (w * (v - x.min)) / (x.max - x.min);
  const py = (v: number): number => {
    const share = (v - y.min) / (y.max - y.min);
    return margin.top + h * (downwards ? share : 1 - share);
  };
  const ticks = (axis: Axis): { v: number; text: string }[] => {
    const step = niceBelow((axis.max - axis.min) / 3);
    const first = Math.ceil(axis.min / step);
    const last = Math.floor(axis.max / step);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => {
      const v = (first + k) * step;
      return { v, text: v.toFixed(digits) };
    });
  };
  const grid = [
    ...ticks(x).map(
      ({ v, text }) =>
        `<line x1="${n(px(v))}" y1="${margin.top}" x2="${n(px(v))}" y2="${margin.top + h}" stroke="#e3e6e9"/>` +
        `<text x="${n(px(v))}" y="${margin.top + h + 15}" text-anchor="middle">${text}</text>`,
    ),
    ...ticks(y).map(
      ({ v, text }) =>
        `<line x1="${margin.left}" y1="${n(py(v))}" x2="${margin.left + w}" y2="${n(py(v))}" stroke="#e3e6e9"/>` +
        `<text x="${margin.left - 6}" y="${n(py(v) + 4)}" text-anchor="end">${text}</text>`,
    ),
  ].join("");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="sans-serif" font-size="11" fill="#1d2327">` +
    `<text x="${margin.left}" y="18" font-size="13" font-weight="bold">${title}</text>` +
    grid +
    `<rect x="${margin.left}" y="${margin.top}" width="${w}" height="${h}" fill="none" stroke="#9aa3ab"/>` +
    body(px, py) +
    `<text x="${margin.left + w / 2}" y="${height - 10}" text-anchor="middle">${labels[0]}</text>` +
    `<text transform="translate(14 ${margin.top + h / 2}) rotate(-90)" text-anchor="middle">${labels[1]}</text></svg>`
  );
}

/**
 * Arrows at two of the coordinates of each point, with the same two of the deviation, enlarged so that the longest arrow has a
 * fifth of the plot; a reference arrow says how long is what.
 * @param of which two coordinates; `names` of both
 */
export function vectorField(
  title: string,
  points: Points,
  units: { readonly at: string; readonly off: string },
  of: readonly [number, number],
  names: readonly [string, string],
): string {
  const at = points.map((p) => [p.at[of[0]] ?? NaN, p.at[of[1]] ?? NaN] as const);
  const off = points.map((p) => [p.off[of[0]] ?? NaN, p.off[of[1]] ?? NaN] as const);
  const all = at.flat().map(Math.abs);
  const place = readable(units.at, Math.max(...all) < 1e-3 ? 1e-4 : 1);
  // The longest arrow has a fifth of the plot: so much room is left around the points.
  const around = 0.4;
  const x = rangeOf(
    at.map(([u]) => u * place.factor),
    around,
  );
  const y = rangeOf(
    at.map(([, v]) => v * place.factor),
    around,
  );
  const longest = Math.max(...off.map(([u, v]) => Math.hypot(u, v)));
  const wide = width - margin.left - margin.right;
  const perUnit = longest > 0 ? (0.2 * wide) / longest : 0;
  const shown = niceBelow(longest);
  const reading = readable(units.off, longest);
  // Pixels of a picture count downwards.
  const down = units.at === "px";
  const sign = down ? 1 : -1;
  const arrow = (x0: number, y0: number, dx: number, dy: number, colour: string): string => {
    const length = Math.hypot(dx, dy);
    const [ex, ey] = [x0 + dx, y0 + dy];
    if (length < 1) return `<circle cx="${n(x0)}" cy="${n(y0)}" r="1.5" fill="${colour}"/>`;
    const [ux, uy] = [dx / length, dy / length];
    const head = Math.min(6, length / 2);
    const side = (k: number): string =>
      `${n(ex - head * ux + k * head * 0.45 * uy)},${n(ey - head * uy - k * head * 0.45 * ux)}`;
    return (
      `<line x1="${n(x0)}" y1="${n(y0)}" x2="${n(ex)}" y2="${n(ey)}" stroke="${colour}" stroke-width="1.4"/>` +
      `<polygon points="${n(ex)},${n(ey)} ${side(1)} ${side(-1)}" fill="${colour}"/>`
    );
  };
  return frame(
    title,
    x,
    y,
    [`${names[0]} / ${place.name}`, `${names[1]} / ${place.name}`],
    (px, py) =>
      at
        .map(([u, v], k) => {
          const [x0, y0] = [px(u * place.factor), py(v * place.factor)];
          const [du, dv] = off[k] ?? [0, 0];
          return (
            `<circle cx="${n(x0)}" cy="${n(y0)}" r="2" fill="#9aa3ab"/>` +
            arrow(x0, y0, du * perUnit, sign * dv * perUnit, "#1f5fa8")
          );
        })
        .join("") +
      arrow(width - margin.right - shown * perUnit, height - 14, shown * perUnit, 0, "#c43c2f") +
      `<text x="${n(width - margin.right - 6 - shown * perUnit)}" y="${height - 10}" text-anchor="end" fill="#c43c2f">` +
      `${figure(shown * reading.factor)} ${reading.name}</text>`,
    down,
  );
}

/** Deviations along one axis as dots, with a line through `line` values and a band of `band` about zero at each place. */
export function deviations(
  title: string,
  points: Points,
  units: { readonly at: string; readonly off: string },
  more: {
    readonly line?: { readonly at: readonly number[]; readonly values: readonly number[] };
    readonly bands?: readonly { readonly at: number; readonly half: number }[];
  } = {},
): string {
  const lineValues = more.line?.values ?? [];
  const offs = points.flatMap(({ off }) => off.slice(0, 1));
  const places = [...points.map((p) => p.at[0] ?? NaN), ...(more.line?.at ?? [])];
  const largest = Math.max(...[...offs, ...lineValues].map(Math.abs));
  const xUnit = readable(units.at, 1);
  const yUnit = readable(units.off, largest);
  const x = rangeOf(places.map((v) => v * xUnit.factor));
  const y = rangeOf(
    [0, ...offs, ...lineValues, ...(more.bands ?? []).flatMap(({ half }) => [half, -half])].map(
      (v) => v * yUnit.factor,
    ),
  );
  return frame(title, x, y, [`position / ${xUnit.name}`, `deviation / ${yUnit.name}`], (px, py) => {
    const bands = (more.bands ?? []).map(({ at, half }) => {
      const top = py(half * yUnit.factor);
      return (
        `<rect x="${n(px(at * xUnit.factor) - 9)}" y="${n(top)}" width="18" ` +
        `height="${n(py(-half * yUnit.factor) - top)}" fill="#2d8a4e" fill-opacity="0.18"/>`
      );
    });
    const zero = `<line x1="${n(px(x.min))}" y1="${n(py(0))}" x2="${n(px(x.max))}" y2="${n(py(0))}" stroke="#9aa3ab"/>`;
    const path = (more.line?.at ?? [])
      .map((at, k) => `${n(px(at * xUnit.factor))},${n(py((lineValues[k] ?? NaN) * yUnit.factor))}`)
      .join(" ");
    const line =
      path === "" ? "" : `<polyline points="${path}" fill="none" stroke="#b26a00" stroke-width="1.6"/>`;
    const dots = points.map(
      (p) =>
        `<circle cx="${n(px((p.at[0] ?? NaN) * xUnit.factor))}" cy="${n(py((p.off[0] ?? NaN) * yUnit.factor))}" r="2.6" fill="#1f5fa8"/>`,
    );
    return bands.join("") + zero + line + dots.join("");
  });
}

/** The plots of one item; none where it keeps no points. */
export function plotsOf(name: string, item: CalibrationItem): string[] {
  const { residuals, at } = item;
  const { points, pointUnit } = residuals;
  if (points === undefined || pointUnit === undefined || points.length === 0) return [];
  const units = { at: pointUnit, off: residuals.unit };
  const size = points[0]?.at.length ?? 0;
  const deep = points[0]?.off.length ?? 0;
  if (size === 1) {
    const line =
      at !== undefined && !name.endsWith("repeatability")
        ? { line: { at: at.values, values: item.values } }
        : {};
    const bands = name.endsWith("repeatability")
      ? { bands: item.values.map((half, k) => ({ at: at?.values[k] ?? NaN, half })) }
      : {};
    // Residuals between the places of a map lie about its line.
    const about = line.line === undefined ? points : onLine(points, line.line);
    return [deviations(name, about, units, { ...line, ...bands })];
  }
  if (size === 2 && deep >= 2)
    return [vectorField(name, points, units, [0, 1], pointUnit === "px" ? ["right", "down"] : ["x", "y"])];
  if (size === 3 && deep >= 3)
    return [
      vectorField(`${name}: x, y`, points, units, [0, 1], ["x", "y"]),
      vectorField(`${name}: x, z`, points, units, [0, 2], ["x", "z"]),
    ];
  return [];
}

function onLine(
  points: Points,
  line: { readonly at: readonly number[]; readonly values: readonly number[] },
): Points {
  const valueAt = (position: number): number => {
    const after = Math.max(
      1,
      line.at.findIndex((at) => at >= position),
    );
    const [a, b] = [line.at[after - 1] ?? NaN, line.at[after] ?? NaN];
    const [u, v] = [line.values[after - 1] ?? NaN, line.values[after] ?? NaN];
    return u + ((v - u) * (position - a)) / (b - a);
  };
  return points.map((p) => ({ at: p.at, off: [valueAt(p.at[0] ?? NaN) + (p.off[0] ?? NaN)] }));
}
