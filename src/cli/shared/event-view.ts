/** Events of the cell as lines for people. */
import type { CellEvent, CellStatus, CycleEvent, SkillEvent } from "../../service/command/protocol.js";
import { oneLine, paint } from "./output.js";

/** Said once wherever rationales are shown. */
export const rationaleNote =
  "The rationale is an audit aid: text that came with the answer, not proof of what a model thought.";

function cycleLines(event: CycleEvent): string[] {
  const skill = event.skill ?? "no skill";
  const verdict =
    event.verdict === "allowed"
      ? paint("green", `allowed ${skill}`)
      : paint("yellow", `refused ${skill} (${event.refusalsInRow} in a row)`);
  const lines = [
    paint("bold", `cycle ${event.cycle}`) + paint("dim", `  ${event.observation} by ${event.reasoner}`),
    `  rationale  ${oneLine(event.rationale)}`,
    `  answer     ${oneLine(event.answer)}`,
    `  verdict    ${verdict}`,
  ];
  for (const { code, detail } of event.reasons) lines.push(`  reason     ${code}: ${oneLine(detail)}`);
  return lines;
}

/** Four significant digits; of a list the first entries. */
export function valueText(value: unknown): string {
  if (typeof value === "number") return String(Number(value.toPrecision(4)));
  if (!Array.isArray(value)) return oneLine(typeof value === "string" ? value : JSON.stringify(value), 60);
  const shown = value.slice(0, 4).map(valueText);
  return `[${shown.join(", ")}${value.length > shown.length ? ", ..." : ""}]`;
}

/** `treM=0.00021`, SI as measured. */
export const measurementText = (measurements: Readonly<Record<string, unknown>>): string =>
  Object.entries(measurements)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(" ");

function skillLine(event: SkillEvent): string {
  const measured = measurementText(event.measurements);
  const detail = [oneLine(event.detail), measured].filter((part) => part !== "").join("  ");
  if (event.phase === "started") return `  ${event.skill} started`;
  if (event.phase === "stage") return paint("dim", `    ${event.name}  ${detail}`);
  const colour = event.name === "succeeded" ? "green" : "red";
  return `  ${event.skill} ${paint(colour, event.name)}  ${detail}`;
}

function stateLine(status: CellStatus): string {
  const { procedure, targets, reason, possible } = status;
  const count = targets.total > 0 ? `, ${targets.implanted} of ${targets.total} implanted` : "";
  const choices =
    procedure === "waiting_operator" && possible.length > 0 ? `; you may: ${possible.join(", ")}` : "";
  return paint("cyan", `${procedure.replaceAll("_", " ")}${count}: ${oneLine(reason)}${choices}`);
}

/** The lines that show an event. */
export function eventLines(item: CellEvent): string[] {
  switch (item.topic) {
    case "cycle":
      return cycleLines(item.event);
    case "skill":
      return [skillLine(item.event)];
    case "state":
      return [stateLine(item.event)];
    case "checkpoint":
      return [paint("dim", `checkpoint ${item.event.stream} ${item.event.seq}`)];
    case "log":
      return [
        paint(
          item.event.level === "error" ? "red" : "dim",
          `${item.event.level}: ${oneLine(item.event.message)}`,
        ),
      ];
  }
}
