/**
 * Two kinds of server are known to take a reply apart by design: one puts the think text into a field of its own, one
 * begins the think block in its prompt and returns only the rest. A profile may say so of the server at hand, and only then
 * is the reply put together again, before the parser sees it. Everything else stays as it came, and is refused.
 */
import type { Reply } from "./reasoner.js";

export interface ReplyProfile {
  /** Where the server puts the think text; `field`: into `reasoning`, and the text begins with the answer. */
  readonly thinkChannel: "content" | "field";
  /** The server's prompt ends with the opening think tag, and its text begins behind it. */
  readonly assumeOpenThink: boolean;
}

export const asItComes: ReplyProfile = { thinkChannel: "content", assumeOpenThink: false };

const [open, close] = ["<think>", "</think>"];

/** The reply as its model wrote it. Rebuilds nothing that the profile does not name, and nothing that has the part already. */
export function rebuildReply(reply: Reply, profile: ReplyProfile): Reply {
  const { text, reasoning } = reply;
  if (profile.thinkChannel === "field") {
    const empty = reasoning === undefined || reasoning.trim() === "";
    if (empty || text.includes(open) || text.includes(close)) return reply;
    const { reasoning: _moved, ...rest } = reply;
    return { ...rest, text: `${open}${reasoning}${close}${text}`, rebuilt: "think text from its own field" };
  }
  if (profile.assumeOpenThink && !text.includes(open))
    return { ...reply, text: `${open}${text}`, rebuilt: "opening think tag from the prompt" };
  return reply;
}
