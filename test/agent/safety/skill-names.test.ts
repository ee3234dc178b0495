import t from "tap";
import { isSkillName, skillNames } from "../../../src/agent/safety/skill-names.js";

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

t.test("seven names, far apart, none a prefix of another", async (t) => {
  t.equal(edits("kitten", "sitting"), 3);
  t.equal(new Set(skillNames).size, 7);
  let smallest = Infinity;
  for (const a of skillNames) {
    for (const b of skillNames) {
      if (a === b) continue;
      smallest = Math.min(smallest, edits(a, b));
      t.notOk(b.startsWith(a), `${a} is no prefix of ${b}`);
    }
  }
  t.equal(smallest, 6, "the published figure");
});

t.test("membership is byte-equality", async (t) => {
  for (const name of ["insert", "INSERT ", "toString", "__proto__", ""]) t.notOk(isSkillName(name), name);
});
