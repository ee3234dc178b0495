import { mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { parse, stringify } from "yaml";
import {
  isTerminal,
  loadProcedure,
  patchPixels,
  saveProcedure,
} from "../../../src/agent/procedure/procedure-file.js";
import { procedureSchema, type Procedure } from "../../../src/agent/procedure/schema.js";

const pixels = Uint8Array.from({ length: 64 }, (_, index) => index);

function pick(view: string): Procedure["targets"][number]["picks"][number] {
  const patch = { width: 8, height: 8, pixels: Buffer.from(pixels).toString("base64") };
  return { view, x: 1024.25, y: 900.5, axis: [0, 1], takenAtS: 12.5, patch };
}

const procedure: Procedure = procedureSchema.parse({
  version: 1,
  id: "three",
  createdAt: "2026-01-02T03:04:05Z",
  cell: "reference-cell",
  snapshot: {
    frames: ["view1", "view2"].map((view) => ({
      view,
      width: 2048,
      height: 2048,
      sha256: "ab".repeat(32),
    })),
  },
  targets: [1, 2].map((electrode) => ({
    id: `target-${electrode}`,
    electrode,
    picks: [pick("view1"), pick("view2")],
  })),
});

async function written(change: (data: Record<string, never>) => void): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-procedure-"));
  const file = path.join(folder, "p.yaml");
  const data = parse(stringify(procedure)) as Record<string, never>;
  change(data);
  await writeFile(file, stringify(data));
  return file;
}

t.test("what is saved is read back, pixels included, and no temporary file stays", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-procedure-"));
  const file = path.join(folder, "p.yaml");
  await saveProcedure(file, procedure);
  const back = await loadProcedure(file, "reference-cell");
  t.same(back, procedure);
  t.same(patchPixels(back.targets[0]?.picks[0]?.patch ?? { pixels: "" }), pixels);
  t.match(await readFile(file, "utf8"), /^# Planned by surgiclaw/);
  t.same(await readdir(folder), ["p.yaml"]);
});

t.test("an unreadable procedure names file, key and what was expected", async (t) => {
  const reject = async (change: (data: never) => void, detail: RegExp): Promise<void> => {
    const file = await written(change as (data: Record<string, never>) => void);
    await t.rejects(loadProcedure(file, "reference-cell"), { code: "PROCEDURE_UNREADABLE", detail });
  };
  await t.rejects(loadProcedure("/nowhere.yaml", "reference-cell"), { code: "PROCEDURE_UNREADABLE" });
  await reject((data: { cell: string }) => void (data.cell = "other"), /expected reference-cell, got other/);
  await reject(
    (data: { querry: string }) => void (data.querry = "x"),
    /querry: unknown key; did you mean "query"/,
  );
  await reject(
    (data: { targets: unknown[] }) => void (data.targets = []),
    /targets: expected at least 1 entries, got 0/,
  );
  await reject(
    (data: { targets: { electrode: number }[] }) => void (data.targets[1]!.electrode = 1),
    /electrode 1 is used twice/,
  );
  await reject(
    (data: { targets: { id: string }[] }) => void (data.targets[1]!.id = "target-1"),
    /"target-1" is used twice/,
  );
  await reject(
    (data: { targets: { picks: { patch: { width: number } }[] }[] }) =>
      void (data.targets[0]!.picks[0]!.patch.width = 9),
    /another number of grey levels/,
  );
  await reject(
    (data: { targets: { picks: { axis: number[] }[] }[] }) =>
      void (data.targets[0]!.picks[0]!.axis = [0.5, 0.5]),
    /length 1/,
  );
  await reject(
    (data: { targets: { picks: { x: unknown }[] }[] }) => void (data.targets[0]!.picks[0]!.x = "left"),
    /targets\[0\]\.picks\[0\]\.x: expected number 0 to 16384 \(px\), got "left"/,
  );
});

t.test(
  "the terminal state needs every target implanted, the needle withdrawn and all still; unknown is not",
  (t) => {
    const implanted = new Set(["target-1", "target-2"]);
    const facts = { implanted, needleRetracted: true, still: true } as const;
    t.equal(isTerminal(procedure, facts), true);
    t.equal(isTerminal(procedure, { ...facts, implanted: new Set(["target-1"]) }), false);
    t.equal(isTerminal(procedure, { ...facts, needleRetracted: "unknown" }), false);
    t.equal(isTerminal(procedure, { ...facts, still: false }), false);
    t.end();
  },
);
