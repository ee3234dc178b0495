/**
 * Form of a reply (skill-agent.md 5.2): exactly one think, one answer and one function block, in this order, nothing but
 * blanks around them, and a function that is byte-equal to one of the seven names. One linear pass each over the raw and
 * the folded text; no backtracking, no repair, no case folding of anything that is accepted. Total: it never throws.
 */
import { isSkillName } from "./skill-names.js";
import type { Proposal, Reason, ReasonCode } from "./types.js";

export const replyLimitBytes = 16 * 1024;

export type ParseResult =
  { readonly ok: true; readonly proposal: Proposal } | { readonly ok: false; readonly reason: Reason };

const tags = ["<think>", "</think>", "<answer>", "</answer>", "<function>", "</function>"] as const;

/** Characters looked at, each time: what the running time is proportional to. */
export interface ParserWork {
  characters: number;
}

const refuse = (code: ReasonCode, detail: string): ParseResult => ({ ok: false, reason: { code, detail } });

/**
 * @param reply text, or bytes taken as they are: no byte-order mark is skipped, invalid UTF-8 is refused
 * @param work counts what was looked at
 */
export function parseReply(reply: string | Uint8Array, work: ParserWork = { characters: 0 }): ParseResult {
  const size = typeof reply === "string" ? Buffer.byteLength(reply) : reply.length;
  if (size > replyLimitBytes) {
    return refuse("length", `${size} bytes, more than ${replyLimitBytes}`);
  }
  const text = typeof reply === "string" ? reply : decode(reply);
  if (text === undefined) return refuse("char", "the bytes are not valid UTF-8");
  if (isBlank(text)) return refuse("empty", "nothing but blanks");

  // Blank check, characters, special tokens, blocks: once each over the text, whatever is in it.
  work.characters += 4 * text.length;
  return checkCharacters(text) ?? checkTagCounts(text, work) ?? readBlocks(text);
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/**
 * Characters that a person does not see, that reorder or hide text, or that stand for a broken decoding: controls,
 * format, private use, surrogates, line and paragraph separators, default-ignorable (zero-width, variation selectors,
 * tag block), non-characters, U+FFFD.
 */
const invisible =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufffd]/u;

function checkCharacters(text: string): ParseResult | undefined {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x20 && code < 0x7f) continue;
    if (code === 0x09 || code === 0x0a || code === 0x0d) continue;
    if (code === 0xff5c) return refuse("special_token", "a full-width bar");
    if (code < 0x80 || invisible.test(character)) {
      return refuse("char", `character U+${code.toString(16).toUpperCase().padStart(4, "0")}`);
    }
  }
  if (text.includes("<|") || text.includes("|>")) return refuse("special_token", "a special token");
  return undefined;
}

function checkTagCounts(text: string, work: ParserWork): ParseResult | undefined {
  const raw = countRawTags(text, work);
  for (const tag of tags) {
    const count = raw.get(tag) ?? 0;
    if (count !== 1) return refuse("count", `${tag} appears ${count} times`);
  }
  const folded = fold(text);
  work.characters += text.length + 2 * folded.length;
  if (folded.includes("<|")) return refuse("special_token", "a special token in look-alike spelling");
  const alike = countLookAlikes(folded, work);
  if (alike.dialect !== undefined) return refuse("channel", `a call in another dialect: <${alike.dialect}`);
  for (const tag of tags) {
    const count = alike.counts.get(tag) ?? 0;
    if (count !== 1) return refuse("count", `${tag} appears ${count} times, look-alike spellings included`);
  }
  return undefined;
}

function countRawTags(text: string, work: ParserWork): Map<string, number> {
  const counts = new Map<string, number>();
  work.characters += text.length;
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at + 1)) {
    for (const tag of tags) {
      work.characters += tag.length;
      if (text.startsWith(tag, at)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
  }
  return counts;
}

/** Letters of other scripts that look like the letters of our tags. */
const confusable: ReadonlyMap<string, string> = new Map(
  (
    [
      ["t", "тτҭ"],
      ["h", "һհ"],
      ["i", "іιıɩӏ"],
      ["n", "пոηռɴ"],
      ["k", "кκ"],
      ["a", "аαɑ"],
      ["s", "ѕʂꜱ"],
      ["w", "ԝѡшա"],
      ["e", "еєҽ"],
      ["r", "гᴦꭇ"],
      ["f", "ғƒք"],
      ["u", "սυц"],
      ["c", "сϲᴄ"],
      ["o", "оοօᴏ"],
      ["<", "‹⟨〈❮❬⧼˂ᐸ≺"],
      ["/", "∕⁄⧸╱"],
    ] as const
  ).flatMap(([plain, others]) => Array.from(others, (other): [string, string] => [other, plain])),
);

/**
 * Compatibility decomposition, lower case, marks removed, look-alike letters replaced: what a careless reader or a
 * normalising program downstream would take the text for. Used only to refuse, never to accept.
 */
function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  let folded = "";
  for (const character of text.normalize("NFKD").toLowerCase().normalize("NFKD")) {
    if (/\p{M}/u.test(character)) continue;
    folded += confusable.get(character) ?? character;
  }
  return folded;
}

const dialects: ReadonlySet<string> = new Set([
  "invoke",
  "tool_call",
  "tool_calls",
  "tool_use",
  "function_call",
  "function_calls",
]);
const tagWords: ReadonlySet<string> = new Set(["think", "answer", "function"]);
const longestWord = 14;

/** Ways to write `<` without writing it. */
const openings = ["<", "&lt;", "&lt", "&#60;", "&#060;", "&#x3c;", "&#x003c;", "\\u003c", "\\x3c", "%3c"];

const openingsLength = openings.join("").length;

const isBlankCode = (code: number): boolean =>
  code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
const isWordCode = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || code === 0x5f;

/** Counts tags however spelt: blanks inside, attributes, `=`, HTML entities and escapes for the bracket. */
function countLookAlikes(
  folded: string,
  work: ParserWork,
): {
  readonly counts: Map<string, number>;
  readonly dialect?: string;
} {
  const counts = new Map<string, number>();
  let at = 0;
  while (at < folded.length) {
    const opening = openingAt(folded, at);
    work.characters++;
    if (opening === undefined) {
      at++;
      continue;
    }
    work.characters += openingsLength;
    let cursor = skipBlanks(folded, at + opening.length);
    const closing = folded[cursor] === "/" || folded[cursor] === "\\";
    if (closing) cursor = skipBlanks(folded, cursor + 1);
    let end = cursor;
    while (end < folded.length && end - cursor <= longestWord && isWordCode(folded.charCodeAt(end))) end++;
    const word = folded.slice(cursor, end);
    work.characters += end - at;
    if (dialects.has(word)) return { counts, dialect: word };
    if (tagWords.has(word)) {
      const tag = `<${closing ? "/" : ""}${word}>`;
      counts.set(tag, (counts.get(tag) ?? 0) + 1);
    }
    // Blanks and letters just passed hold no opening, so the scan stays linear.
    at = Math.max(end, at + opening.length);
  }
  return { counts };
}

function openingAt(folded: string, at: number): string | undefined {
  const first = folded[at];
  if (first !== "<" && first !== "&" && first !== "\\" && first !== "%") return undefined;
  return openings.find((candidate) => folded.startsWith(candidate, at));
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlankCode(text.charCodeAt(at))) at++;
  return at;
}

/** Every tag appears exactly once here; what is left is their order and what lies between them. */
function readBlocks(text: string): ParseResult {
  const starts = tags.map((tag) => text.indexOf(tag));
  const ends = tags.map((tag, index) => (starts[index] ?? -1) + tag.length);
  const between = (after: number, before: number): string => text.slice(ends[after], starts[before]);
  for (let index = 1; index < tags.length; index++) {
    if ((starts[index] ?? -1) < (ends[index - 1] ?? 0)) {
      return refuse("order", `${tags[index]} stands before ${tags[index - 1]}`);
    }
  }
  if (!isAsciiBlank(text.slice(0, starts[0]))) return refuse("order", "text before the first block");
  if (!isAsciiBlank(between(1, 2)) || !isAsciiBlank(between(3, 4))) {
    return refuse("order", "text between the blocks");
  }
  if (!isAsciiBlank(text.slice(ends[5]))) return refuse("trailing", "text after the last block");

  const rationale = between(0, 1);
  const answer = between(2, 3);
  if (isBlank(rationale)) return refuse("empty", "the think block is empty");
  if (isBlank(answer)) return refuse("empty", "the answer block is empty");
  const name = trimAsciiBlanks(between(4, 5));
  if (name === "") return refuse("empty", "the function block is empty");
  if (!isSkillName(name)) {
    return refuse("unknown_function", `${JSON.stringify(name.slice(0, 60))} is none of the seven skills`);
  }
  return { ok: true, proposal: { skill: name, rationale: rationale.trim(), answer: answer.trim() } };
}

const isAsciiBlank = (text: string): boolean => skipBlanks(text, 0) === text.length;

/** Blank to a reader: any white space of Unicode. */
const isBlank = (text: string): boolean => text.trim() === "";

function trimAsciiBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && isBlankCode(text.charCodeAt(end - 1))) end--;
  return text.slice(Math.min(skipBlanks(text, 0), end), end);
}
