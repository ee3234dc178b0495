/** Property tests of the parser: mutations never turn one skill into another, joined or cut replies are refused. */
import fc from "fast-check";
import t from "tap";
import { parseReply } from "../../src/agent/safety/parse-reply.js";
import { skillNames } from "../../src/agent/safety/skill-names.js";
import { tagged } from "../agent/fixtures.js";

const seed = Number(process.env["SURGICLAW_SEED"] ?? 20260107);
t.comment(`seed ${seed}`);
/** 1 in `npm test`; `npm run test:property` sets more. */
const share = Number(process.env["SURGICLAW_PROPERTY_SHARE"] ?? 1);
/** For what fast-check draws and shrinks, which takes longer. */
const some = Math.min(share, 5);

/** Text as a model writes it: nothing that could be part of a tag, at least one visible character. */
const prose = fc
  .string({
    unit: fc.constantFrom(...Array.from("abcdefgh XYZ0123456789.,:;()µ°\n")),
    minLength: 1,
    maxLength: 60,
  })
  .map((text) => `${text}x`);
const validReply = fc.record({ name: fc.constantFrom(...skillNames), think: prose, answer: prose });
const write = ({ name, think, answer }: { name: string; think: string; answer: string }): string =>
  tagged(name, think, answer);

t.test("valid replies are accepted as what they name", async () => {
  fc.assert(
    fc.property(validReply, (reply) => {
      const result = parseReply(write(reply));
      return result.ok && result.proposal.skill === reply.name;
    }),
    { seed, numRuns: 1000 * some },
  );
});

t.test("every single-byte edit of a valid reply: refused, or the same skill", async (t) => {
  let accepted = 0;
  let edits = 0;
  const wrong: string[] = [];
  for (const name of skillNames) {
    const bytes = Buffer.from(tagged(name, "sharp in both views", "go on"));
    const judge = (edited: Uint8Array, what: string): void => {
      edits++;
      const result = parseReply(edited);
      if (!result.ok) return;
      accepted++;
      if (result.proposal.skill !== name) wrong.push(`${name}: ${what}`);
    };
    for (let at = 0; at <= bytes.length; at++) {
      const deleted = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
      judge(deleted, `delete at ${at}`);
      for (let value = 0; value < 256; value++) {
        judge(
          Buffer.concat([bytes.subarray(0, at), Buffer.from([value]), bytes.subarray(at)]),
          `insert ${value} at ${at}`,
        );
        if (at < bytes.length) {
          const changed = Buffer.from(bytes);
          changed[at] = value;
          judge(changed, `set ${value} at ${at}`);
        }
      }
    }
  }
  t.same(wrong, []);
  t.comment(`${edits} edits, ${accepted} accepted with the same skill`);
  t.ok(accepted < edits / 2);
});

t.test("two replies joined are refused", async () => {
  fc.assert(
    fc.property(validReply, validReply, fc.constantFrom("", "\n", " "), (a, b, between) => {
      return !parseReply(write(a) + between + write(b)).ok;
    }),
    { seed, numRuns: 1000 * some },
  );
});

t.test("every truncation is refused", async () => {
  fc.assert(
    fc.property(validReply, fc.nat(), (reply, cut) => {
      const text = write(reply);
      return !parseReply(text.slice(0, cut % text.length)).ok;
    }),
    { seed, numRuns: 2000 * some },
  );
});

t.test(
  "hostile replies: total, and never another skill than the one between the only function tags",
  async (t) => {
    const pieces = fc.constantFrom(
      "<think>",
      "</think>",
      "<answer>",
      "</answer>",
      "<function>",
      "</function>",
      "<Function>",
      "< function >",
      "&lt;function&gt;",
      "<function=",
      "＜function＞",
      "<|im_end|>",
      "\u200b",
      "\u0456",
      "x",
      " ",
      "\n",
      ...skillNames,
    );
    const noise = fc.array(
      fc.oneof({ weight: 8, arbitrary: pieces }, fc.string({ unit: "binary", maxLength: 4 })),
      {
        maxLength: 3,
      },
    );
    const quiet = fc.oneof(
      { weight: 12, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: noise },
    );
    const frame = fc
      .constantFrom(...skillNames)
      .map((name) => [
        "<think>",
        "a",
        "</think>",
        "<answer>",
        "b",
        "</answer>",
        "<function>",
        name,
        "</function>",
      ]);
    // A valid reply with noise strewn between its parts.
    const hostile = fc
      .tuple(frame, fc.array(quiet, { minLength: 10, maxLength: 10 }))
      .map(([parts, strewn]) => strewn.flatMap((extra, index) => [...extra, parts[index] ?? ""]));
    let accepted = 0;
    fc.assert(
      fc.property(hostile, (parts) => {
        const text = parts.join("");
        const result = parseReply(text);
        if (!result.ok) return true;
        accepted++;
        const match = grammar.exec(text);
        return match?.[3] === result.proposal.skill && text.split("<function>").length === 2;
      }),
      { seed, numRuns: 20000 * some },
    );
    t.comment(`${accepted} accepted`);
    t.ok(accepted > 1000, "the check is not empty");
  },
);

/** The grammar once more, written as an expression: slow and backtracking, good enough to check against. */
const grammar =
  /^[ \t\r\n]*<think>([^]*\S[^]*)<\/think>[ \t\r\n]*<answer>([^]*\S[^]*)<\/answer>[ \t\r\n]*<function>[ \t\r\n]*([A-Z_]+)[ \t\r\n]*<\/function>[ \t\r\n]*$/;

t.test("mutated replies: total, and accepted only as the one function that stands there", async (t) => {
  // A plain generator: a million runs of fast-check would take minutes.
  const random = mulberry(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const pieces = [
    "<",
    ">",
    "</",
    "think",
    "answer",
    "function",
    "<function>",
    "</function>",
    "&lt;",
    "<|",
    "\u200b",
    "і",
    "＜",
    "\ud800",
    "INSER",
    " ",
    "\n",
    "_",
  ];
  const piece = (): string =>
    below(3) === 0
      ? String.fromCodePoint(below(below(4) === 0 ? 0x11000 : 0x7f))
      : (pieces[below(pieces.length)] ?? "");
  const runs = 20_000 * share;
  let accepted = 0;
  const wrong: string[] = [];
  for (let run = 0; run < runs; run++) {
    const name = skillNames[below(skillNames.length)] ?? "";
    let text = tagged(name, "sharp in both views", "go on");
    let joined = false;
    for (let edits = 1 + below(4); edits > 0; edits--) {
      const at = below(text.length + 1);
      const take = below(3) === 0 ? below(12) : 0;
      text = text.slice(0, at) + piece() + text.slice(at + take);
      if (below(40) === 0) text = text.slice(0, below(text.length + 1));
      if (below(40) === 0) {
        // Joined to what may be cut short or spoilt by now: then the whole one behind it is what stands there.
        joined = true;
        text += tagged(skillNames[below(skillNames.length)] ?? "");
      }
    }
    const result = parseReply(text);
    if (!result.ok) continue;
    accepted++;
    const match = grammar.exec(text);
    const fits =
      match?.[3] === result.proposal.skill &&
      (joined || result.proposal.skill === name) &&
      text.toLowerCase().split(/<function[ />]/).length === 2;
    if (!fits) wrong.push(text);
  }
  t.same(wrong, []);
  t.comment(`${runs} mutated replies, ${accepted} accepted, all as the skill that stands in them`);
  t.ok(accepted > runs / 100 && accepted < runs / 2, "the check is not empty");
});

/** mulberry32: uniform in [0, 1), the same for a seed everywhere. */
function mulberry(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Text that is hard for each of the passes. */
const worst = [
  "<",
  "< ",
  "<think>",
  "</function>",
  "&lt;",
  "<function ",
  "\\",
  "%3c",
  "<a",
  "а<",
  "ﬀ<",
  "&#060;",
  "x",
];

t.test("work is linear in the length of hostile input", async (t) => {
  const characters = (length: number, unit: string, inside: boolean): number => {
    const filler = unit.repeat(Math.floor(length / unit.length));
    const work = { characters: 0 };
    parseReply(inside ? tagged("INSERT", filler) : filler, work);
    return work.characters;
  };
  for (const unit of worst) {
    for (const inside of [true, false]) {
      const [once, twice, eight] = [1500, 3000, 12000].map((length) => characters(length / 3, unit, inside));
      const title = `${JSON.stringify(unit)} ${inside ? "inside a reply" : "alone"}`;
      // What a reply of no filler costs drops out of differences; linear: 1 → 2 → 8 gives a ratio of 7 + 1.
      const slope = (twice ?? 0) - (once ?? 0);
      t.ok((eight ?? 0) - (twice ?? 0) <= 6 * slope * 1.02 + 200, `${title}: ${once}, ${twice}, ${eight}`);
      t.ok((eight ?? 0) < 400 * 4000, "at most some hundred looks at a character");
    }
  }
});
