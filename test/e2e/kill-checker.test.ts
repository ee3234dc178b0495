/** The checker of the kill campaign finds what it is there for. */
import { appendFile, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { AuditLog } from "../../src/record/audit-log.js";
import type { AuditEntry } from "../../src/record/audit-entry.js";
import { readRecords, violations, type History } from "./kill-checker.js";

const entry = (monotonicS: number, action: string, data: object): AuditEntry => ({
  ...{ seq: 1, stream: "s", monotonicS, wall: "", actor: "loop", action, data, prev: "", hash: "" },
});
const log = [
  entry(0, "log.opened", {}),
  entry(1, "decision", { decisionId: "d1", allowed: true, skill: "INSERT" }),
  entry(1.1, "skill.start", { decisionId: "d1", skill: "INSERT" }),
  entry(5, "skill.end", { decisionId: "d1", skill: "INSERT" }),
];
const moved = (startS: number, endS: number): History["motions"] => [
  { device: "stage", axis: 1, startS, endS, from: 0, to: 1 },
];
const history = (changes: Partial<History> = {}): History => ({
  ...{ motions: moved(2, 4), guardian: [], passages: ["entered-tissue", "left-tissue"] },
  ...changes,
});

t.test("all is explained", async (t) => {
  t.same(violations(log, history()), []);
});

t.test("what is not", async (t) => {
  const found = (entries: readonly AuditEntry[], changes: Partial<History> = {}): string =>
    violations(entries, history(changes)).join("; ");
  t.match(found(log, { motions: moved(7, 9) }), /stage 1 moved/, "after the end");
  t.match(found(log, { motions: moved(2, 9) }), /stage 1 moved/, "longer than the skill");
  t.match(found(log, { motions: moved(-2, -1) }), /stage 1 moved/, "before anything was on record");
  t.match(found(log, { passages: ["entered-tissue"] }), /left in the tissue/);
  t.match(found([...log, ...log.slice(2)]), /d1 was carried out twice/);
  t.match(found([...log.slice(0, 1), ...log.slice(2)]), /without a decision/);
  const refused = entry(1, "decision", { decisionId: "d1", allowed: false, skill: "INSERT" });
  t.match(found([log[0] as AuditEntry, refused, ...log.slice(2)]), /without a decision/);
  const other = entry(1.1, "skill.start", { decisionId: "d1", skill: "RECOVER" });
  t.match(found([...log.slice(0, 2), other]), /RECOVER started without a decision for it/);
});

t.test("a torn line is no fault, a changed one is", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-checker-"));
  await mkdir(path.join(folder, "run"));
  const file = path.join(folder, "run", "audit.jsonl");
  const audit = await AuditLog.open(file, { stream: "run" });
  await audit.append("loop", "a", { text: "as it was" });
  await audit.close();
  t.match(await readRecords(folder), { faults: [], entries: { length: 3 } });
  await appendFile(file, '{"action":"dec');
  t.match(await readRecords(folder), { faults: [], entries: { length: 3 } });
  await writeFile(file, (await readFile(file, "utf8")).replace("as it was", "as it is"));
  t.match((await readRecords(folder)).faults, [/entry 2 was altered/]);
});
