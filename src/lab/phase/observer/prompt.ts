/** What a model is asked about a storyboard. The wording is ours; the published one is not known. */
import type { ObserverQuestion } from "./observer.js";

/** Longest reply that a model may write, tokens. */
export const tokenLimit = 400;

export interface ObserverPrompt {
  readonly system: string;
  readonly user: string;
}

export function observerPrompt(question: ObserverQuestion, onOneSheet: boolean): ObserverPrompt {
  const { vocabulary, form, steps } = question;
  const [none, ...reachable] = vocabulary.phases;
  const pictures = onOneSheet
    ? "One picture holds seven panels, three a row, in reading order."
    : "There are seven pictures, in order.";
  const system = [
    "You judge one recorded attempt of a robot at a task, from pictures alone.",
    pictures,
    "Panels 1 to 6 show the attempt at the steps written above them: the full view, and close-ups of the outlined places.",
    "The last panel shows what differs between the first and the last of these; what did not change is black.",
    "",
    `Task ${vocabulary.task}: ${vocabulary.description}`,
    "Phases, from nothing to success:",
    ...vocabulary.phases.map(({ label, rule }) => `- "${label}": ${rule}`),
    "",
    "Find the furthest phase that was reached at any time, even if it was lost again later. A phase counts only when a",
    "panel shows it. When in doubt between two neighbours, take the lower one.",
    ...(form === "steps"
      ? [
          `Say when it was first reached, as the first and the last step it can have been; steps run from 0 to ${steps - 1}.`,
          "Between two panels, these are the steps of the two panels. null if you cannot tell when.",
          `For "${none?.label ?? ""}" it is always null.`,
          "",
          "Answer with one JSON object and nothing else:",
          '{"phase": LABEL, "arrival": [FIRST, LAST] or null, "confidence": 0 to 1}',
        ]
      : [
          "Say for each phase the time in seconds at which it was first reached, or null if it was not.",
          "",
          "Answer with one JSON object and nothing else, every phase named:",
          `{"arrivals": {${reachable.map(({ label }) => `"${label}": SECONDS or null`).join(", ")}}, "confidence": 0 to 1}`,
        ]),
  ].join("\n");
  const shown = (question.board?.panels ?? [])
    .filter(({ kind }) => kind === "time")
    .map(({ steps: [step], timesS }) =>
      timesS === undefined ? `${step}` : `${step} (${timesS[0]?.toFixed(2)} s)`,
    );
  const user = `Steps shown: ${shown.join(", ")}. What is the furthest phase, and when was it first reached?`;
  return { system, user };
}

/** The JSON Schema of a reply, for servers that can hold a model to one. */
export function replySchema({ vocabulary, form }: ObserverQuestion): object {
  const confidence = { type: "number", minimum: 0, maximum: 1 };
  const closed = (properties: object): object => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const labels = vocabulary.phases.map(({ label }) => label);
  if (form === "steps") {
    const pair = { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 };
    const arrival = { anyOf: [pair, { type: "null" }] };
    return closed({ phase: { type: "string", enum: labels }, arrival, confidence });
  }
  const time = { anyOf: [{ type: "number", minimum: 0 }, { type: "null" }] };
  return closed({
    arrivals: closed(Object.fromEntries(labels.slice(1).map((label) => [label, time]))),
    confidence,
  });
}
