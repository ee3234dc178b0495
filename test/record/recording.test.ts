import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { verifyAuditLog } from "../../src/record/audit-verify.js";
import { FrameStore, type StorableFrame } from "../../src/record/frame-store.js";
import { Recording } from "../../src/record/recording.js";

const folder = (): Promise<string> => mkdtemp(path.join(tmpdir(), "surgiclaw-recording-"));

function frame(sequence: number, released: number[]): StorableFrame {
  return {
    camera: "MIC1/left",
    sequence,
    width: 2,
    height: 2,
    release: () => void released.push(sequence),
  };
}

t.test("a recording: inputs word for word, frames, chain, summary", async (t) => {
  const root = path.join(await folder(), "runs");
  const wall = (): Date => new Date("2026-11-30T16:20:11.482Z");
  const options = {
    root,
    name: "three loops!",
    inputs: { "config.yaml": "cell: x\n", "procedure.yaml": "targets: []\n" },
    encoder: { extension: "jpg", encode: async (f: StorableFrame) => Buffer.from(`jpeg ${f.sequence}`) },
    wall,
  };
  const recording = await Recording.create(options);
  t.equal(path.basename(recording.folder), "2026-11-30T16-20-11.482Z-three-loops-");
  const twin = await Recording.create(options);
  t.not(twin.folder, recording.folder, "never into an existing folder");
  await twin.close();

  const released: number[] = [];
  const name = recording.frames.store(frame(17, released), "obs-1", 3);
  t.equal(name, "0003-MIC1_left-17.jpg");
  t.same(released, [], "the lease is held until the file is written");
  await recording.frames.drain();
  t.same(released, [17]);
  t.equal(await readFile(path.join(recording.folder, "frames", name), "utf8"), "jpeg 17");
  const summary = await recording.writeSummary({ seed: 7, completed: true });
  await recording.close();
  t.same(JSON.parse(await readFile(summary, "utf8")), { seed: 7, completed: true });
  t.same((await readdir(recording.folder)).sort(), [
    "audit.jsonl",
    "config.yaml",
    "frames",
    "procedure.yaml",
    "summary.json",
  ]);
  t.equal(await readFile(path.join(recording.folder, "config.yaml"), "utf8"), "cell: x\n");
  const log = path.join(recording.folder, "audit.jsonl");
  t.match(await verifyAuditLog(log), { ok: true, closed: true });
  const stored = (await readFile(log, "utf8"))
    .split("\n")
    .filter((line) => line.includes("frame.stored"))
    .map((line) => JSON.parse(line) as { data: unknown });
  t.match(stored[0]?.data, {
    file: `frames/${name}`,
    observationId: "obs-1",
    fileSha256: createHash("sha256").update("jpeg 17").digest("hex"),
  });
});

t.test("frames that cannot be kept are counted and their leases given back", async (t) => {
  const released: number[] = [];
  const lost: string[] = [];
  let finish: (() => void) | undefined;
  const store = new FrameStore({
    folder: path.join(await folder(), "frames"),
    backlog: 2,
    encoder: {
      extension: "jpg",
      encode: async (f: StorableFrame) => {
        if (f.sequence === 2) throw new Error("encoder broke");
        await new Promise<void>((resolve) => (finish = resolve));
        return Buffer.from("x");
      },
    },
    onLost: (f, error) => lost.push(`${f.sequence} ${error.message}`),
  });
  store.store(frame(1, released), "obs-1", 1);
  store.store(frame(2, released), "obs-1", 1);
  store.store(frame(3, released), "obs-2", 2);
  t.same(released, [3], "a full backlog gives the lease back at once");
  finish?.();
  await store.drain();
  t.same(released.sort(), [1, 2, 3]);
  t.match(lost, [/3 .*wait already/, /2 .*encoder broke/]);
  t.same(store.counters, { stored: 1, lost: 2, waiting: 0 });
});

t.test("a root that cannot be written is said so", async (t) => {
  const encoder = { extension: "jpg", encode: async () => Buffer.from("") };
  await t.rejects(Recording.create({ root: "/dev/null/runs", name: "x", inputs: {}, encoder }), {
    code: "AUDIT_WRITE",
  });
});
