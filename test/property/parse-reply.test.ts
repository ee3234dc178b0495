/** Property tests of the parser: mutations never turn one skill into another, joined or cut replies are refused. */
import fc from "fast-check";
import t from "tap";
import { parseReply } from "../../src/agent/safety/parse-reply.js";
import { skillNames } from "../../src/agent/safety/skill-names.js";
import { tagged } from "../agent/fixtures.js";

const seed = Number(process.env["SURGICLAW_SEED"] ?? 20260107);
t.comment(`seed ${seed}`);

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
    { seed, numRuns: 2000 },
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
    { seed, numRuns: 2000 },
  );
});

t.test("every truncation is refused", async () => {
  fc.assert(
    fc.property(validReply, fc.nat(), (reply, cut) => {
      const text = write(reply);
      return !parseReply(text.slice(0, cut % text.length)).ok;
    }),
    { seed, numRuns: 5000 },
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
        // The grammar once more, as an expression: slow and backtracking, good enough to check against.
        const grammar =
          /^[ \t\r\n]*<think>([^]*\S[^]*)<\/think>[ \t\r\n]*<answer>([^]*\S[^]*)<\/answer>[ \t\r\n]*<function>[ \t\r\n]*([A-Z_]+)[ \t\r\n]*<\/function>[ \t\r\n]*$/;
        const match = grammar.exec(text);
        return match?.[3] === result.proposal.skill && text.split("<function>").length === 2;
      }),
      { seed, numRuns: 50000 },
    );
    t.comment(`${accepted} accepted`);
    t.ok(accepted > 1000, "the check is not empty");
  },
);

t.test("mutations of valid replies: total, and never another skill", async () => {
  const edit = fc.record({
    at: fc.nat(),
    take: fc.nat(12),
    put: fc.string({ unit: "binary", maxLength: 6 }),
  });
  fc.assert(
    fc.property(validReply, fc.array(edit, { minLength: 1, maxLength: 4 }), (reply, edits) => {
      let text = write(reply);
      for (const { at, take, put } of edits) {
        const from = at % (text.length + 1);
        text = text.slice(0, from) + put + text.slice(from + take);
      }
      const result = parseReply(text);
      // At most four edits, each putting at most six characters, might spell another name only by chance of 2^-128.
      return !result.ok || result.proposal.skill === reply.name;
    }),
    { seed, numRuns: 20000 },
  );
});

t.test("time is linear in the length of hostile input", async (t) => {
  const worst = ["<", "< ", "<think>", "</function>", "&lt;", "<function ", "\\", "%3c"];
  const time = (length: number, unit: string): number => {
    const text = tagged("INSERT", unit.repeat(length / unit.length));
    const start = process.hrtime.bigint();
    for (let i = 0; i < 20; i++) parseReply(text);
    return Number(process.hrtime.bigint() - start) / 20;
  };
  for (const unit of worst) {
    time(2000, unit);
    const short = Math.min(...[1, 2, 3].map(() => time(2000, unit)));
    const long = Math.min(...[1, 2, 3].map(() => time(16000, unit)));
    // Eight times the text; quadratic would be 64 times. Loose, for a busy machine.
    t.ok(long < short * 32 + 2e6, `${JSON.stringify(unit)}: ${(long / short).toFixed(1)} times`);
  }
});
