import { createHash } from "node:crypto";
import { appendFile, mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { AuditLog } from "../../src/record/audit-log.js";
import { verifyAuditLog } from "../../src/record/audit-verify.js";

const folder = (): Promise<string> => mkdtemp(path.join(tmpdir(), "surgiclaw-audit-"));

async function sample(entries = 8): Promise<string> {
  const file = path.join(await folder(), "audit.jsonl");
  const log = await AuditLog.open(file, { stream: "run-1" });
  for (let i = 1; i < entries - 1; i++)
    await log.append("loop", "step", { i, text: `number ${i}`, µ: [1e-6, -0] });
  await log.close();
  return file;
}

t.test("a chain as the format says, checked with another implementation of it", async (t) => {
  const file = await sample();
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  t.equal(lines.length, 8);
  let prev = "0".repeat(64);
  for (const [index, line] of lines.entries()) {
    const match = /^(.*),"hash":"([0-9a-f]{64})"(,.*)$/.exec(line);
    const without = `${match?.[1] ?? ""}${match?.[3] ?? ""}`;
    t.equal(createHash("sha256").update(without).digest("hex"), match?.[2], `entry ${index + 1}`);
    const entry = JSON.parse(line) as { seq: number; prev: string; hash: string };
    t.equal(entry.seq, index + 1);
    t.equal(entry.prev, prev);
    prev = entry.hash;
  }
  t.same(await verifyAuditLog(file), {
    ok: true,
    entries: 8,
    firstBad: null,
    why: "every entry verifies",
    head: prev,
    closed: true,
    tornBytes: 0,
  });
});

t.test("what was done to the file is named", async (t) => {
  const lines = (await readFile(await sample(), "utf8")).trimEnd().split("\n");
  const verdict = async (
    changed: readonly string[],
    end = "\n",
  ): Promise<[number | null, string, number]> => {
    const file = path.join(await folder(), "audit.jsonl");
    await writeFile(file, changed.join("\n") + end);
    const { firstBad, why, entries } = await verifyAuditLog(file);
    return [firstBad, why, entries];
  };
  const swap = [...lines];
  [swap[3], swap[4]] = [lines[4] ?? "", lines[3] ?? ""];
  t.match(await verdict(swap), [4, /entry 4 was swapped/, 3]);
  t.match(await verdict(lines.filter((_, index) => index !== 5)), [6, /entry 6 was removed/, 5]);
  t.match(await verdict(lines.slice(1)), [1, /entry 1 was removed/, 0]);
  t.match(await verdict([...lines.slice(0, 3), ...lines.slice(2)]), [4, /entry 4 is entry 3 once more/, 3]);
  t.match(await verdict(lines.map((line, i) => (i === 2 ? line.replace("number 2", "number 3") : line))), [
    3,
    /entry 3 was altered/,
    2,
  ]);
  t.match(await verdict(lines.map((line, i) => (i === 2 ? `${line} ` : line))), [3, /canonical/, 2]);
  t.match(await verdict([...lines.slice(0, 4), (lines[4] ?? "").slice(0, 40)], ""), [
    5,
    /cut in the middle/,
    4,
  ]);

  // Rewritten together with its own hash: its successor gives it away.
  const forged = JSON.parse(lines[3] ?? "") as Record<string, unknown>;
  const { canonicalJson } = await import("../../src/record/canonical-json.js");
  const body: Record<string, unknown> = { ...forged, data: { i: 99 } };
  delete body["hash"];
  const resealed = canonicalJson({
    ...body,
    hash: createHash("sha256").update(canonicalJson(body)).digest("hex"),
  });
  t.match(await verdict(lines.map((line, i) => (i === 3 ? resealed : line))), [4, /entry 4 was replaced/, 3]);
});

t.test("every single flipped byte is found", async (t) => {
  const original = await readFile(await sample(4));
  const file = path.join(await folder(), "audit.jsonl");
  const newlines = [...original.keys()].filter((at) => original[at] === 10);
  const wrong: string[] = [];
  for (let at = 0; at < original.length; at += 3) {
    const changed = Buffer.from(original);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await writeFile(file, changed);
    const { ok, firstBad } = await verifyAuditLog(file);
    const entry = newlines.filter((end) => end < at).length + 1;
    if (ok || firstBad !== entry) wrong.push(`byte ${at}: entry ${entry}, found ${firstBad}`);
  }
  t.same(wrong, []);
});

t.test("a clean cut or a rolled-back file shows against a checkpoint", async (t) => {
  const file = path.join(await folder(), "audit.jsonl");
  const log = await AuditLog.open(file, { stream: "s" });
  await log.append("loop", "a", null);
  await log.append("loop", "b", null);
  const checkpoint = log.head;
  await log.close();
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  await writeFile(file, `${lines.slice(0, 2).join("\n")}\n`);
  t.match(await verifyAuditLog(file), { ok: true, closed: false });
  t.match(await verifyAuditLog(file, checkpoint), { ok: false, firstBad: 3, why: /cut/ });
  t.match(await verifyAuditLog(file, { seq: 2, hash: "ab".repeat(32) }), { ok: false, firstBad: 2 });
});

t.test("a torn tail is set aside, noted and continued; a broken chain is refused", async (t) => {
  const dir = await folder();
  const file = path.join(dir, "audit.jsonl");
  const first = await AuditLog.open(file, { stream: "s" });
  await first.append("loop", "a", {});
  await first.close();
  await appendFile(file, '{"action":"decis\u00e4');
  const second = await AuditLog.open(file, { stream: "s" });
  await second.append("loop", "b", {});
  await second.close();
  const verdict = await verifyAuditLog(file);
  t.match(verdict, { ok: true, entries: 7 });
  const kept = (await readdir(dir)).filter((name) => name.includes(".torn-"));
  t.equal(kept.length, 1);
  t.equal(await readFile(path.join(dir, kept[0] ?? ""), "utf8"), '{"action":"decis\u00e4');
  const note = (await readFile(file, "utf8")).split("\n").find((line) => line.includes("log.tail_kept"));
  t.match(note, /"bytes":18/);

  await t.rejects(AuditLog.open(file, { stream: "another" }), { code: "AUDIT_BROKEN" });
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"actor":"loop"', '"actor":"pool"'));
  await t.rejects(AuditLog.open(file, { stream: "s" }), {
    code: "AUDIT_BROKEN",
    message: /entry 2 was altered/,
  });
  await t.rejects(AuditLog.open(path.join(dir, "no", "such"), { stream: "s" }), { code: "AUDIT_WRITE" });
});

t.test("an append has reached the file when it resolves; order of calls is order of entries", async (t) => {
  const file = path.join(await folder(), "audit.jsonl");
  const log = await AuditLog.open(file, { stream: "s" });
  const appends = Array.from({ length: 200 }, (_, i) => log.append("loop", "n", { i }));
  const last = await appends[199];
  const text = await readFile(file, "utf8");
  t.ok(text.includes(last?.hash ?? "-"));
  await Promise.all(appends);
  const order = (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { action: string; data: { i: number } })
    .filter((entry) => entry.action === "n")
    .map((entry) => entry.data.i);
  t.same(
    order,
    Array.from({ length: 200 }, (_, i) => i),
  );
  await log.close();
  await log.close();
  await t.rejects(log.append("loop", "late", {}), { code: "AUDIT_WRITE" });
});

t.test("after a failed write everything is refused", async (t) => {
  const log = await AuditLog.open(path.join(await folder(), "audit.jsonl"), { stream: "s" });
  const handle = (log as unknown as { handle: { datasync: () => Promise<void> } }).handle;
  handle.datasync = () => Promise.reject(new Error("ENOSPC"));
  await t.rejects(log.append("loop", "a", {}), { code: "AUDIT_WRITE" });
  handle.datasync = () => Promise.resolve();
  await t.rejects(log.append("loop", "b", {}), { code: "AUDIT_WRITE" }, "also once the disk has room again");
  await t.rejects(log.append("loop", "c", { f: () => 1 }), { code: "AUDIT_WRITE" });
  await log.close();
});
