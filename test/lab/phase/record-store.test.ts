/** The file of replies: one an episode, kept through a kill. */
import { appendFile, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { readRecordLines, RecordStore } from "../../../src/lab/phase/record-store.js";

const entry = (episode: string) => ({
  episode,
  task: "BlockPick",
  vocabularySha256: "v",
  poolSha256: "p",
  form: "steps" as const,
  observer: "test",
  finishReason: "stop",
  reply: `not a record: "${episode}"\n`,
  askedAt: "2026-01-01T00:00:00.000Z",
});

t.test("replies are appended, never twice, and a torn line is asked again", async (t) => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-records-")), "r.jsonl");
  t.same(await readRecordLines(file), [], "no file, no replies");
  const store = await RecordStore.open(file);
  await store.append(entry("a"));
  await store.append(entry("b"));
  await t.rejects(store.append(entry("a")), { code: "INTERNAL" });
  t.same(
    (await readRecordLines(file)).map(({ episode, reply }) => [episode, reply]),
    [
      ["a", 'not a record: "a"\n'],
      ["b", 'not a record: "b"\n'],
    ],
  );
  const whole = await readFile(file, "utf8");
  await appendFile(file, '{"format":"surgiclaw.phase-record/1","epis');
  const again = await RecordStore.open(file);
  t.same(
    again.lines.map(({ episode }) => episode),
    ["a", "b"],
  );
  t.equal(await readFile(file, "utf8"), whole, "the torn line is gone");
  await again.append(entry("c"));
  t.equal((await readRecordLines(file)).length, 3);
});

t.test("a damaged or doubled line is named", async (t) => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-records-")), "r.jsonl");
  const store = await RecordStore.open(file);
  await store.append(entry("a"));
  const text = await readFile(file, "utf8");
  await writeFile(file, text + text);
  await t.rejects(readRecordLines(file), { code: "PHASE_FILE_INVALID", message: /episode a stands twice/ });
  await writeFile(file, `${text}{"x":1}\n`);
  await t.rejects(readRecordLines(file), { code: "PHASE_FILE_INVALID", message: /r.jsonl:2/ });
});
