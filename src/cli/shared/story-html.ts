/**
 * The story of a procedure as one HTML file without scripts. Pictures are referred to by their place beside the log;
 * everything that comes from outside (replies, queries, details) is escaped.
 */
import type { Story, StoryDecision, StoryImage, StoryNote } from "../../agent/loop/audit-story.js";
import { escapeHtml } from "../../base/escape-html.js";
import { conditionText } from "../../agent/safety/conditions.js";
import { measurementText } from "./event-view.js";

export interface StoryPage {
  readonly story: Story;
  /** What verification found, in one sentence. */
  readonly verified: string;
  readonly whole: boolean;
  /** Address of a picture, or why there is none to show. */
  readonly picture: (image: StoryImage) => { readonly href: string } | { readonly missing: string };
}

const style = `
body { font: 15px/1.45 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1d2327; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
section { border: 1px solid #d5d9dd; border-left: .4rem solid #9aa3ab; border-radius: .3rem; padding: .8rem 1rem; margin: 1rem 0; }
section.allowed { border-left-color: #2d8a4e; } section.refused { border-left-color: #c43c2f; }
.note, .time { color: #5b6670; } .note { margin: .4rem 1rem; }
dl { display: grid; grid-template-columns: 8rem 1fr; gap: .15rem 1rem; margin: 0; } dt { color: #5b6670; } dd { margin: 0; overflow-wrap: anywhere; }
.yes { color: #2d8a4e; } .no { color: #c43c2f; } .unknown { color: #b26a00; }
table { border-collapse: collapse; margin: .5rem 0; font-size: .9rem; } td { padding: .1rem .8rem .1rem 0; vertical-align: top; }
figure { display: inline-block; margin: .6rem .6rem 0 0; } figure img { width: 20rem; display: block; border: 1px solid #d5d9dd; }
figcaption { font-size: .85rem; color: #5b6670; }
pre { white-space: pre-wrap; background: #f4f5f6; padding: .5rem; }`;

export function storyHtml(page: StoryPage): string {
  const { story, verified, whole } = page;
  const title = escapeHtml(story.stream);
  const items = story.items.map((item) =>
    item.kind === "note" ? noteHtml(item, story.beginS) : decisionHtml(item, story.beginS, page),
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${style}
</style></head><body>
<h1>${title}</h1>
<p class="${whole ? "yes" : "no"}">${escapeHtml(verified)}</p>
<p class="note">Rationales are an audit aid: text that came with an answer, not proof of what a model thought.</p>
${items.join("\n")}
</body></html>
`;
}

const time = (atS: number, beginS: number, wall: string, seq: number): string =>
  `<span class="time">+${(atS - beginS).toFixed(2)} s · entry ${seq} · ${escapeHtml(wall)}</span>`;

function noteHtml(note: StoryNote, beginS: number): string {
  const data = escapeHtml(JSON.stringify(note.data)).slice(0, 2000);
  return `<p class="note">${time(note.atS, beginS, note.wall, note.seq)} <b>${escapeHtml(note.action)}</b> by ${escapeHtml(note.actor)} ${data}</p>`;
}

const row = (term: string, text: string): string => `<dt>${term}</dt><dd>${text}</dd>`;
const value = (of: unknown): string => {
  const word = of === true ? "yes" : of === false ? "no" : "unknown";
  return `<span class="${word}">${word}</span>`;
};

function decisionHtml(item: StoryDecision, beginS: number, page: StoryPage): string {
  const { record, conditions, run } = item;
  const { proposal, reply, observation } = record;
  const { visual, state } = observation;
  const who = record.source === "reasoner" ? record.reasoner : (record.by ?? "the loop itself");
  const rows = [
    row("query", escapeHtml(observation.query)),
    row(
      "saw",
      `sharp ${value(visual.sharp)}, exposure in band ${value(visual.exposureInBand)}, needle visible ${value(visual.needleVisible)}`,
    ),
    row("measured", `targets left ${escapeHtml(String(state.targetsLeft))}, frame epoch ${state.frameEpoch}`),
    ...(proposal === null
      ? [row("reply", `<pre>${escapeHtml(reply?.text ?? "none")}</pre>`)]
      : [row("rationale", escapeHtml(proposal.rationale)), row("answer", escapeHtml(proposal.answer))]),
    row("verdict", record.allowed ? '<b class="yes">allowed</b>' : '<b class="no">refused</b>'),
    ...record.reasons.map(({ code, detail }) => row("", `${code}: ${escapeHtml(detail)}`)),
  ];
  const needs = conditions.map(
    ({ id, value: v }) => `<tr><td>${conditionText[id]}</td><td>${value(v)}</td></tr>`,
  );
  return `<section class="${record.allowed ? "allowed" : "refused"}">
<h2>step ${record.cycle}: ${record.skill ?? "no legal skill"}, proposed by ${escapeHtml(who)}</h2>
${time(item.atS, beginS, item.wall, item.seq)}
<dl>${rows.join("")}</dl>
${needs.length === 0 ? "" : `<details${record.allowed ? "" : " open"}><summary>what it requires</summary><table>${needs.join("")}</table></details>`}
${run === undefined ? "" : runHtml(run)}
${item.images.map((image) => figure(image, page)).join("")}
</section>`;
}

function runHtml(run: NonNullable<StoryDecision["run"]>): string {
  const stages = run.stages.map(
    ({ atS, name, measurements }) =>
      `<tr><td>+${(atS - run.startS).toFixed(2)} s</td><td>${escapeHtml(name)}</td><td>${escapeHtml(measurementText(measurements))}</td></tr>`,
  );
  const { end } = run;
  const how =
    end === undefined
      ? '<b class="no">the record ends before the skill did</b>'
      : `<b class="${end.status === "succeeded" ? "yes" : "no"}">${escapeHtml(end.status)}</b> after ` +
        `${(end.atS - run.startS).toFixed(2)} s: ${escapeHtml(end.detail)} ${escapeHtml(measurementText(end.measurements))}`;
  return `<table>${stages.join("")}</table><p>${how}</p>`;
}

function figure(image: StoryImage, page: StoryPage): string {
  const found = page.picture(image);
  const caption = `${escapeHtml(image.camera)}, ${escapeHtml(image.label)}`;
  if ("missing" in found)
    return `<figure><figcaption>${caption}: <b class="no">${escapeHtml(found.missing)}</b></figcaption></figure>`;
  const href = escapeHtml(found.href);
  return `<figure><a href="${href}"><img loading="lazy" src="${href}" alt="${caption}"></a><figcaption>${caption}</figcaption></figure>`;
}
