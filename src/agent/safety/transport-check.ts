/**
 * What is known about a reply besides its text: how it ended, how long it was, which observation it answers, how old it
 * is. The parser trusts nothing that a server promises; these checks refuse what the text alone cannot show.
 */
import type { Observation, Reason } from "./types.js";

export interface ReplyMetadata {
  /** As the server gave it; only a plain "stop" is a whole reply. */
  readonly finishReason: string | undefined;
  readonly completionTokens?: number;
  readonly tokenLimit?: number;
  readonly observationId: string;
  readonly observationHash: string;
  /** Monotonic seconds. */
  readonly receivedAtS: number;
  /** Native tool calls beside the text, in whatever form. */
  readonly toolCalls?: readonly unknown[];
  /** Text that the server put into a channel of its own; never a source of functions. */
  readonly reasoning?: string;
  /** Outcome of the start-up probe of a server that promises constrained output; the parser relies on no promise. */
  readonly constraintProbe?: "passed" | "failed";
}

/** Age: from the observation to now, s. */
export interface TransportLimits {
  readonly observationAgeS: number;
}

/** All reasons to refuse; empty when the reply may be parsed. Pure. */
export function checkTransport(
  nowS: number,
  reply: ReplyMetadata,
  observation: Pick<Observation, "id" | "hash" | "takenAtS">,
  limits: TransportLimits,
): readonly Reason[] {
  const reasons: Reason[] = [];
  if (reply.finishReason !== "stop") {
    reasons.push({ code: "finish", detail: `finish reason ${reply.finishReason ?? "missing"}, not stop` });
  }
  if (truncated(reply)) {
    reasons.push({
      code: "truncated",
      detail: `${reply.completionTokens} completion tokens of at most ${reply.tokenLimit}`,
    });
  }
  if (reply.toolCalls !== undefined && reply.toolCalls.length > 0) {
    reasons.push({ code: "channel", detail: `${reply.toolCalls.length} native tool calls beside the text` });
  }
  if (reply.reasoning !== undefined && reply.reasoning.trim() !== "") {
    reasons.push({ code: "channel", detail: "text in a separate reasoning channel" });
  }
  if (reply.constraintProbe !== undefined && reply.constraintProbe !== "passed") {
    reasons.push({ code: "transport", detail: "the server did not apply the constraint that it promised" });
  }
  if (reply.observationId !== observation.id) {
    reasons.push({
      code: "stale",
      detail: `answers observation ${reply.observationId}, not ${observation.id}`,
    });
  } else if (reply.observationHash !== observation.hash) {
    reasons.push({ code: "stale", detail: "answers other content than that of the observation" });
  }
  const age = nowS - observation.takenAtS;
  // Written so that NaN refuses.
  if (!(age >= 0 && age <= limits.observationAgeS)) {
    reasons.push({
      code: "stale",
      detail: `the observation is ${age.toFixed(3)} s old, limit ${limits.observationAgeS} s`,
    });
  }
  if (!(reply.receivedAtS >= observation.takenAtS && reply.receivedAtS <= nowS)) {
    reasons.push({ code: "stale", detail: "received before its observation was taken, or in the future" });
  }
  return reasons;
}

/** A count that is given but is no sound number says as much as one that reached the limit. */
function truncated(reply: ReplyMetadata): boolean {
  const { completionTokens, tokenLimit } = reply;
  if (completionTokens === undefined || tokenLimit === undefined) return false;
  return !(completionTokens >= 0 && completionTokens < tokenLimit);
}
