/** One question to the reasoner, bounded in time whatever the reasoner does, and the judgement of its form. */
import { asCellError, CellError } from "../../base/errors.js";
import type { Clock } from "../../base/clock.js";
import type { Reasoner, Reply } from "../reasoners/reasoner.js";
import { parseReply } from "../safety/parse-reply.js";
import { checkTransport, type TransportLimits } from "../safety/transport-check.js";
import type { Proposal, Reason } from "../safety/types.js";
import type { Capture } from "./ports.js";

export interface Answer {
  readonly reply?: Reply;
  readonly proposal?: Proposal;
  /** Why there is no proposal to judge; empty when there is one. */
  readonly reasons: readonly Reason[];
}

/** @throws only what `signal` was aborted with; a reasoner that fails is a refusal. */
export async function ask(
  reasoner: Reasoner,
  capture: Capture,
  budgetS: number,
  limits: TransportLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer> {
  let reply: Reply;
  try {
    reply = await inferWithin(reasoner, capture, budgetS, clock, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { reasons: [{ code: "transport", detail: asCellError(error).message }] };
  }
  const reasons = [...checkTransport(clock.now(), reply, capture.observation, limits)];
  const parsed = parseReply(reply.text);
  if (!parsed.ok) return { reply, reasons: [...reasons, parsed.reason] };
  return { reply, proposal: parsed.proposal, reasons };
}

async function inferWithin(
  reasoner: Reasoner,
  capture: Capture,
  budgetS: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<Reply> {
  const enough = new AbortController();
  const both = AbortSignal.any([signal, enough.signal]);
  const startS = clock.now();
  const inference = reasoner.infer(capture.observation, capture.images, both);
  // A reasoner that ignores the signal may settle at any later time; nobody listens then.
  inference.catch(() => undefined);
  const late = clock.sleep(budgetS, both).then(() => {
    throw new CellError(
      "REASONER_FAILED",
      `${reasoner.name}: no reply after ${(clock.now() - startS).toFixed(2)} s`,
    );
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([inference, late]);
  } finally {
    enough.abort(new CellError("LINK_ABORTED", "the question is over"));
  }
}
