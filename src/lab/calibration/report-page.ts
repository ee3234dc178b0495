/** A calibration file as one HTML page without scripts: items, what was left out of the fits, repeatability, expiry. Pure. */
import { calibrationItems, type Calibration, type CalibrationItem } from "../../base/calibration-file.js";
import { escapeHtml } from "../../base/escape-html.js";
import { plotsOf } from "./report-plots.js";

const style = `
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1d2327; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: .88rem; } th { text-align: left; border-bottom: 2px solid #9aa3ab; }
th, td { padding: .25rem .9rem .25rem 0; vertical-align: top; } tr + tr td { border-top: 1px solid #e3e6e9; }
td.values { max-width: 26rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.method, .note { color: #5b6670; font-size: .85rem; } .ok { color: #2d8a4e; } .soon { color: #b26a00; } .bad { color: #c43c2f; }
figure { display: inline-block; margin: .4rem 1rem .4rem 0; }
dl { display: grid; grid-template-columns: 8rem 1fr; gap: .15rem 1rem; } dt { color: #5b6670; } dd { margin: 0; }`;

/** With a week or less left it is time to measure anew. */
const soonDays = 7;

const figure = (value: number): string => String(Number(value.toPrecision(5)));

/** Value ± one standard deviation of each; many values as their number. */
function valuesText({ values, covariance }: CalibrationItem): string {
  if (values.length > 6) return `${values.length} values`;
  return values
    .map((value, k) => {
      const sigma = Math.sqrt(covariance[k]?.[k] ?? NaN);
      return `${figure(value)} ± ${Number(sigma.toPrecision(2))}`;
    })
    .join("<br>");
}

function expiryText(expiresAt: string, nowMs: number): string {
  const days = (Date.parse(expiresAt) - nowMs) / 86_400_000;
  const kind = days <= 0 ? "bad" : days <= soonDays ? "soon" : "ok";
  const when = days <= 0 ? "expired" : `${Math.floor(days)} days left`;
  return `<span class="${kind}">${escapeHtml(expiresAt.slice(0, 10))}, ${when}</span>`;
}

function itemRow(name: string, item: CalibrationItem, nowMs: number): string {
  const { unit, residuals, measurements, method, measuredAt } = item;
  return (
    `<tr><td><b>${escapeHtml(name)}</b><div class="method">${escapeHtml(method)}</div></td>` +
    `<td class="values">${valuesText(item)}</td><td>${escapeHtml(unit)}</td>` +
    `<td>${Number(residuals.rms.toPrecision(3))}, at most ${Number(residuals.max.toPrecision(3))} ${escapeHtml(residuals.unit)}` +
    `<div class="method">${residuals.heldOut} left out of ${measurements + residuals.heldOut}</div></td>` +
    `<td>${escapeHtml(measuredAt.slice(0, 16).replace("T", " "))}</td><td>${expiryText(item.expiresAt, nowMs)}</td></tr>`
  );
}

function repeatability(items: Readonly<Record<string, CalibrationItem>>): string {
  const rows = Object.entries(items).flatMap(([name, item]) => {
    const stage = /^stage\.(.+)\.repeatability$/.exec(name)?.[1];
    if (stage === undefined) return [];
    const lost = items[`stage.${stage}.lostMotion`];
    const micro = (value: number): string => (value * 1e6).toFixed(2);
    const lostText =
      lost === undefined
        ? "not measured"
        : `${micro(lost.values[0] ?? NaN)} ± ${micro(Math.sqrt(lost.covariance[0]?.[0] ?? NaN))} µm`;
    return [
      `<tr><td><b>${escapeHtml(stage)}</b></td><td>± ${micro(Math.max(...item.values))} µm</td>` +
        `<td>${item.values.map(micro).join(", ")} µm</td><td>${lostText}</td></tr>`,
    ];
  });
  if (rows.length === 0) return "";
  return `<h2>Repeatability and lost motion</h2>
<p class="note">Repeatability after JIS B 6191: half of the largest spread of seven approaches from one side at three points. Lost motion
after JIS B 6333: mean difference of the two directions of approach. Both as the pictures show the tip: their scatter is in it.</p>
<table><tr><th>stage</th><th>repeatability</th><th>at the three points</th><th>lost motion</th></tr>
${rows.join("\n")}</table>`;
}

/** @param nowMs wall time, ms since 1970: expiry is a date */
export function reportPage(calibration: Calibration, nowMs: number): string {
  const items = calibrationItems(calibration);
  const title = `Calibration of ${escapeHtml(calibration.cell)}`;
  const devices =
    calibration.method === "measured"
      ? Object.entries(calibration.devices).map(
          ([name, { model, serial }]) =>
            `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(model)}, serial number ${escapeHtml(serial)}</dd>`,
        )
      : [];
  const edges = calibration.edges.map(
    ({ frame, translationM, rotationVectorRad }) =>
      `<dt>frame ${escapeHtml(frame)}</dt><dd>${translationM.map((v) => (v * 1e3).toFixed(3)).join(", ")} mm; ` +
      `rotation vector ${rotationVectorRad.map((v) => v.toFixed(5)).join(", ")} rad, in its parent</dd>`,
  );
  const plots = Object.entries(items).flatMap(([name, item]) => plotsOf(escapeHtml(name), item));
  const hash =
    calibration.method === "measured" ? `<dt>hash</dt><dd>${escapeHtml(calibration.hash)}</dd>` : "";
  const body =
    Object.keys(items).length === 0
      ? "<p>The drawing: nothing was measured.</p>"
      : `<h2>Items</h2>
<table><tr><th>item</th><th>values ± one standard deviation</th><th>unit</th><th>left out of the fit, root mean square</th><th>measured</th><th>expires</th></tr>
${Object.entries(items)
  .map(([name, item]) => itemRow(name, item, nowMs))
  .join("\n")}</table>
${repeatability(items)}
${plots.length === 0 ? "" : `<h2>What was left out of the fits</h2>\n<p class="note">Grey dots: where it was measured. Blue: how far off it was, enlarged; the red arrow says by how much. Orange: the item itself along the axis. Green: ± repeatability.</p>`}
${plots.map((svg) => `<figure>${svg}</figure>`).join("\n")}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${style}
</style></head><body>
<h1>${title}</h1>
<dl><dt>written</dt><dd>${escapeHtml(calibration.createdAt)}</dd>${devices.join("")}${edges.join("")}${hash}</dl>
${body}
</body></html>
`;
}
