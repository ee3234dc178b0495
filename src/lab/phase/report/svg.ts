/** Just enough SVG for the plots of a page: elements as text, and a linear axis. */

/** Text inside HTML or SVG, attributes included. */
export const escapeMarkup = (text: string): string =>
  text.replaceAll(
    /[&<>"']/g,
    (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[character] ?? "&#39;",
  );

type Attributes = Readonly<Record<string, string | number>>;

const attributesText = (attributes: Attributes): string =>
  Object.entries(attributes)
    .map(
      ([name, value]) =>
        ` ${name}="${typeof value === "number" ? Number(value.toFixed(2)) : escapeMarkup(value)}"`,
    )
    .join("");

/** An element; `content` is markup already. */
export const element = (name: string, attributes: Attributes, content = ""): string =>
  `<${name}${attributesText(attributes)}>${content}</${name}>`;

export const label = (text: string, x: number, y: number, more: Attributes = {}): string =>
  element("text", { x, y, ...more }, escapeMarkup(text));

export const line = (x1: number, y1: number, x2: number, y2: number, kind: string): string =>
  element("line", { x1, y1, x2, y2, class: kind });

/** A picture with a title that screen readers speak. */
export const svg = (width: number, height: number, title: string, content: readonly string[]): string =>
  element(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", xmlns: "http://www.w3.org/2000/svg" },
    element("title", {}, escapeMarkup(title)) + content.join(""),
  );

/** Maps [0, max] to [from, to]. */
export const scale =
  (max: number, from: number, to: number) =>
  (value: number): number =>
    from + ((to - from) * value) / max;

/** Round numbers from 0 up to `max`, about five of them. */
export function ticks(max: number): number[] {
  const raw = max / 5;
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((candidate) => candidate >= raw) ?? decade;
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, index) => index * step);
}
