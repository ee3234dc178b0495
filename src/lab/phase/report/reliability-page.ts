/** The reliability report as one HTML page that needs nothing else: figures beside the published ones, and four plots. */
import { figures } from "./figures.js";
import type { Reliability } from "./reliability.js";
import { element, escapeMarkup, label, line, scale, svg, ticks } from "./svg.js";

const style = `
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1b1b1b; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem } p { max-width: 46rem }
table { border-collapse: collapse } th, td { text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid #ddd }
td { font-variant-numeric: tabular-nums } .plots { display: flex; flex-wrap: wrap; gap: 2rem }
figure { margin: 0 } figcaption { max-width: 30rem; font-size: .9rem; color: #444 }
svg { max-width: 100%; height: auto } svg text { font-size: 12px; fill: #1b1b1b }
.axis { stroke: #888 } .grid { stroke: #e4e4e4 } .ours { stroke: #0b5fa5; stroke-width: 2 } .dot { fill: #0b5fa5 }
.published { fill: #f0c36d } .missed { fill: #c0392b } .missed-line { stroke: #c0392b; stroke-width: 2 } .same { stroke: #888; stroke-dasharray: 4 3 }
`;

const figure = (plot: string, caption: string): string =>
  `<figure>${plot}<figcaption>${escapeMarkup(caption)}</figcaption></figure>`;

/** Shares as points with their intervals, the published ranges as bands behind them. */
function sharePlot(report: Reliability): string {
  const rows = figures(report).filter(({ share }) => share !== undefined);
  const left = 230;
  const width = 640;
  const rowHeight = 30;
  const bottom = 10 + rows.length * rowHeight;
  const x = scale(1, left, width - 20);
  const parts = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((tick) => [
    line(x(tick), 10, x(tick), bottom, "grid"),
    label(`${Math.round(tick * 100)} %`, x(tick), bottom + 18, { "text-anchor": "middle" }),
  ]);
  rows.forEach(({ name, share, range }, index) => {
    const y = 10 + (index + 0.5) * rowHeight;
    parts.push(label(name, left - 10, y + 4, { "text-anchor": "end" }));
    if (range !== undefined) {
      const box = { x: x(range.low), y: y - 9, width: Math.max(2, x(range.high) - x(range.low)), height: 18 };
      parts.push(element("rect", { ...box, class: "published" }));
    }
    if (share?.interval && share.share !== null) {
      parts.push(line(x(share.interval[0]), y, x(share.interval[1]), y, "ours"));
      parts.push(element("circle", { cx: x(share.share), cy: y, r: 5, class: "dot" }));
    }
  });
  return svg(width, bottom + 30, "Shares beside the published ranges", parts);
}

/** Rows: what happened; columns: what was said. The darker, the larger the share of its row. */
function confusionPlot({ labels, confusion }: Reliability): string {
  const cell = 52;
  const left = 130;
  const top = 90;
  const parts: string[] = [];
  labels.forEach((name, index) => {
    const at = (index + 0.5) * cell;
    parts.push(label(name, left - 8, top + at + 4, { "text-anchor": "end" }));
    parts.push(label(name, 0, 0, { transform: `translate(${left + at - 4} ${top - 8}) rotate(-40)` }));
  });
  confusion.forEach((row, truth) => {
    const total = row.reduce((sum, count) => sum + count, 0);
    row.forEach((count, named) => {
      const share = total === 0 ? 0 : count / total;
      // White to dark blue; the number turns white where the ground is dark.
      const ground = `rgb(${Math.round(255 - 244 * share)} ${Math.round(255 - 160 * share)} ${Math.round(255 - 90 * share)})`;
      const place = { x: left + named * cell, y: top + truth * cell };
      parts.push(
        element("rect", { ...place, width: cell, height: cell, style: `fill:${ground};stroke:#ccc` }),
      );
      const ink = share > 0.55 ? "fill:#fff" : "";
      parts.push(
        label(String(count), place.x + cell / 2, place.y + cell / 2 + 4, {
          "text-anchor": "middle",
          style: ink,
        }),
      );
    });
  });
  const size = labels.length * cell;
  return svg(left + size + 70, top + size + 10, "True phase (rows) against named phase (columns)", parts);
}

/** Brackets over the true first arrival. */
function arrivalPlot({ judged }: Reliability): string {
  const points = judged.flatMap(({ arrival, trueArrival, phase, truePhase, episode }) =>
    arrival === null || trueArrival === null
      ? []
      : [{ arrival, trueArrival, right: phase === truePhase, episode }],
  );
  const max = Math.max(1, ...points.flatMap(({ arrival, trueArrival }) => [arrival[1], trueArrival]));
  const [left, top, size] = [56, 12, 340];
  const x = scale(max, left, left + size);
  const y = scale(max, top + size, top);
  const parts = ticks(max).flatMap((tick) => [
    line(x(tick), top, x(tick), top + size, "grid"),
    line(left, y(tick), left + size, y(tick), "grid"),
    label(String(tick), x(tick), top + size + 16, { "text-anchor": "middle" }),
    label(String(tick), left - 8, y(tick) + 4, { "text-anchor": "end" }),
  ]);
  parts.push(line(x(0), y(0), x(max), y(max), "same"));
  for (const { arrival, trueArrival, right, episode } of points) {
    const [l, u] = arrival;
    const drawn = [
      line(x(trueArrival), y(l), x(trueArrival), y(u), right ? "ours" : "missed-line"),
      element("circle", { cx: x(trueArrival), cy: y((l + u) / 2), r: 4, class: right ? "dot" : "missed" }),
      element("title", {}, escapeMarkup(`${episode}: said ${l} to ${u}, was ${trueArrival}`)),
    ];
    parts.push(element("g", {}, drawn.join("")));
  }
  parts.push(
    label("true first arrival, step", left + size / 2, top + size + 36, { "text-anchor": "middle" }),
  );
  const turn = `translate(14 ${top + size / 2}) rotate(-90)`;
  parts.push(label("arrival as said, step", 0, 0, { transform: turn, "text-anchor": "middle" }));
  return svg(left + size + 20, top + size + 46, "Arrival as said against true first arrival", parts);
}

/** Records by confidence, right and wrong ones above each other. */
function confidencePlot({ judged }: Reliability): string {
  const bins = 10;
  const counts = Array.from({ length: bins }, () => ({ right: 0, wrong: 0 }));
  for (const { confidence, phase, truePhase } of judged) {
    const bin = counts[Math.min(bins - 1, Math.floor(confidence * bins))];
    if (bin === undefined) continue;
    if (phase === truePhase) bin.right++;
    else bin.wrong++;
  }
  const max = Math.max(1, ...counts.map(({ right, wrong }) => right + wrong));
  const [left, top, width, height] = [56, 12, 380, 240];
  const x = scale(bins, left, left + width);
  const y = scale(max, top + height, top);
  const parts = ticks(max)
    .filter(Number.isInteger)
    .flatMap((tick) => [
      line(left, y(tick), left + width, y(tick), "grid"),
      label(String(tick), left - 8, y(tick) + 4, { "text-anchor": "end" }),
    ]);
  counts.forEach(({ right, wrong }, index) => {
    const bar = { x: x(index) + 2, width: x(1) - x(0) - 4 };
    parts.push(element("rect", { ...bar, y: y(right), height: y(0) - y(right), class: "dot" }));
    parts.push(element("rect", { ...bar, y: y(right + wrong), height: y(0) - y(wrong), class: "missed" }));
  });
  for (let tick = 0; tick <= bins; tick += 2) {
    parts.push(label((tick / bins).toFixed(1), x(tick), top + height + 16, { "text-anchor": "middle" }));
  }
  parts.push(line(left, y(0), left + width, y(0), "axis"));
  parts.push(label("confidence as said", left + width / 2, top + height + 36, { "text-anchor": "middle" }));
  return svg(left + width + 20, top + height + 46, "Records by confidence, exact and not", parts);
}

const tally = (title: string, counts: Readonly<Record<string, number>>): string => {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a);
  if (rows.length === 0) return "";
  const cells = rows.map(([reason, count]) => `<tr><td>${escapeMarkup(reason)}</td><td>${count}</td></tr>`);
  return `<h2>${escapeMarkup(title)}</h2><table>${cells.join("")}</table>`;
};

export function reliabilityPage(report: Reliability): string {
  const { task, observer, model, source } = report;
  const title = `Reliability of ${observer} on ${task}`;
  const rows = figures(report).map(
    ({ name, value, interval, published }) =>
      `<tr>${[name, value, interval, published].map((text) => `<td>${escapeMarkup(text)}</td>`).join("")}</tr>`,
  );
  const about = `Pool: ${source}, ${report.asked.of} episodes.${model === null ? "" : ` Model: ${model}.`}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeMarkup(title)}</title>
<style>${style}</style>
<h1>${escapeMarkup(title)}</h1>
<p>${escapeMarkup(about)} The published ranges are those of another observer over five tasks; they are a measure, not a target
reached on the same episodes.</p>
<table><tr><th>figure</th><th>here</th><th>95 % interval (Wilson)</th><th>published, over tasks</th></tr>
${rows.join("\n")}
</table>
<div class="plots">
${figure(sharePlot(report), "Points with 95 % intervals; the bands are the published ranges.")}
${figure(confusionPlot(report), "What happened (rows) against what was said (columns), valid records.")}
${figure(arrivalPlot(report), "Bracket as said over the true first arrival; red: another phase was named.")}
${figure(confidencePlot(report), "Valid records by confidence; red: not the exact phase.")}
</div>
${tally("Replies that are no record", report.invalid)}
${tally("Reasons of the gate", report.refused)}
</html>
`;
}
