/** The story of a procedure for a terminal. */
import type { Story, StoryDecision, StoryNote } from "../../agent/loop/audit-story.js";
import { conditionText } from "../../agent/safety/conditions.js";
import { measurementText, valueText } from "./event-view.js";
import { oneLine, paint } from "./output.js";

const line = (word: string, text: string): string => `    ${word.padEnd(10)} ${text}`;
const yesNo = (value: unknown): string => (value === true ? "yes" : value === false ? "no" : "unknown");

export function storyText(story: Story): string[] {
  return story.items.flatMap((item) => {
    const head = `${`+${(item.atS - story.beginS).toFixed(2)} s`.padStart(11)}  entry ${item.seq}`;
    return item.kind === "note" ? noteText(item, head) : ["", ...decisionText(item, head)];
  });
}

const noteText = (note: StoryNote, head: string): string[] => [
  `${paint("dim", head)}  ${note.action} by ${note.actor}${dataText(note.data)}`,
];

function dataText(data: unknown): string {
  if (typeof data !== "object" || data === null) return "";
  const parts = Object.entries(data)
    .filter(([, value]) => typeof value !== "object" || value === null || Array.isArray(value))
    .map(([name, value]) => `${name}: ${valueText(value)}`);
  return parts.length === 0 ? "" : `: ${parts.join(", ")}`;
}

function decisionText(item: StoryDecision, head: string): string[] {
  const { record, conditions, run, images } = item;
  const { observation, reply, proposal } = record;
  const { visual, state, frames } = observation;
  const who = record.source === "reasoner" ? record.reasoner : (record.by ?? "the loop itself");
  const lines = [
    `${paint("dim", head)}  ${paint("bold", `step ${record.cycle}: ${record.skill ?? "no legal skill"}`)}, proposed by ${who}`,
    line(
      "saw",
      `sharp ${yesNo(visual.sharp)}, exposure in band ${yesNo(visual.exposureInBand)}, needle visible ` +
        `${yesNo(visual.needleVisible)}; frames ${frames.map((f) => `${f.camera} ${f.sequence}`).join(", ") || "none"}`,
    ),
    line(
      "measured",
      `registered ${yesNo(state.registered)}, aligned ${yesNo(state.aligned)}, needle out of tissue ` +
        `${yesNo(state.needleOutOfTissue)}, targets left ${state.targetsLeft}, self-check ${yesNo(state.selfCheckOk)}`,
    ),
  ];
  if (proposal !== null) {
    lines.push(line("rationale", oneLine(proposal.rationale)), line("answer", oneLine(proposal.answer)));
  } else if (reply !== null) lines.push(line("reply", oneLine(reply.text, 200)));
  const verdict = record.allowed ? paint("green", "allowed") : paint("red", "refused");
  const lacking = conditions.filter(({ value }) => value !== true).length;
  lines.push(
    line("verdict", `${verdict}; ${conditions.length - lacking} of ${conditions.length} conditions hold`),
  );
  for (const { id, value } of conditions)
    if (value !== true) lines.push(line("", `${conditionText[id]}: ${yesNo(value)}`));
  for (const { code, detail } of record.reasons)
    if (code !== "prerequisite") lines.push(line("", `${code}: ${oneLine(detail)}`));
  if (run !== undefined) lines.push(...runText(run));
  for (const { file, camera, label } of images)
    lines.push(line("image", `${file}  (${camera}, ${oneLine(label, 60)})`));
  return lines;
}

function runText(run: NonNullable<StoryDecision["run"]>): string[] {
  const lines = run.stages.map(({ atS, name, measurements }) =>
    line(
      "",
      `${`+${(atS - run.startS).toFixed(2)} s`.padStart(9)} ${name}  ${measurementText(measurements)}`,
    ),
  );
  const { end } = run;
  if (end === undefined) return [line("ran", paint("red", "the record ends before the skill did")), ...lines];
  const status = paint(end.status === "succeeded" ? "green" : "red", end.status);
  const seconds = (end.atS - run.startS).toFixed(2);
  const detail = end.detail === "" ? "" : `: ${oneLine(end.detail)}`;
  return [
    line("ran", `${seconds} s`),
    ...lines,
    line("ended", `${status}${detail}  ${measurementText(end.measurements)}`),
  ];
}
