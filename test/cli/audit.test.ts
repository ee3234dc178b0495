/** surgiclaw audit: what was done to a log is named, and its story can be read. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { decisionRecord } from "../../src/agent/loop/decision-record.js";
import { judge } from "../../src/agent/safety/gate.js";
import { CheckpointSigner } from "../../src/record/checkpoint.js";
import { Recording } from "../../src/record/recording.js";
import { goodObservation, goodState, limits, tagged } from "../agent/fixtures.js";

function audit(...args: readonly string[]): { code: number | null; out: string } {
  const main = path.join(projectRoot, "dist", "src", "cli", "main.js");
  const run = spawnSync(process.execPath, [main, "audit", ...args], { encoding: "utf8" });
  return { code: run.status, out: run.stdout };
}
const json = ({ out }: { out: string }): Record<string, unknown> =>
  JSON.parse(out) as Record<string, unknown>;

const root = await mkdtemp(path.join(tmpdir(), "surgiclaw-audit-"));
t.teardown(() => rm(root, { recursive: true, force: true }));

const nowS = 1000;
const script = "<script>alert(1)</script>";

/** One allowed decision with its run, one refused, and two pictures. */
async function record(): Promise<string> {
  const recording = await Recording.create({
    root,
    name: "story",
    inputs: {},
    encoder: { extension: "jpg", encode: () => Promise.resolve(Buffer.from("a picture")) },
    checkpoints: { signer: await CheckpointSigner.open(path.join(root, "key.pem")), periodS: 3600 },
  });
  const decide = async (id: string, state = goodState(nowS)): Promise<void> => {
    const observation = goodObservation(nowS, { query: script }, `obs-${id}`);
    const proposal = { skill: "INSERT" as const, rationale: `it is ${script}`, answer: "go on" };
    const verdict = judge(nowS, proposal, observation, state, limits);
    const reply = {
      ...{ text: tagged("INSERT"), finishReason: "stop", observationId: observation.id },
      ...{ observationHash: observation.hash, receivedAtS: nowS },
    };
    const parts = { decisionId: id, cycle: 1, source: "reasoner" as const, reasoner: "rules", observation };
    await recording.audit.append(
      "loop",
      "decision",
      decisionRecord({
        ...{ ...parts, reply, proposal, judgedAtS: nowS, freshState: state, limits, verdict },
        ...{ reasons: verdict.reasons, refusalsInRow: 0 },
      }),
    );
    for (const camera of ["MIC1", "MIC2"])
      recording.frames.store(
        { camera, sequence: 1, width: 1, height: 1, release: () => undefined },
        `obs-${id}`,
        1,
      );
    await recording.frames.drain();
  };
  await decide("d1");
  await recording.audit.append("loop", "skill.start", { decisionId: "d1", skill: "INSERT" });
  const stage = { decisionId: "d1", skill: "INSERT", stage: "stroke", measurements: { depthM: 0.001 } };
  await recording.audit.append("skill", "skill.stage", stage);
  await recording.audit.append("skill", "skill.end", {
    decisionId: "d1",
    status: "succeeded",
    detail: "landed",
  });
  await decide("d2", goodState(nowS, { registered: false }));
  await recording.audit.append("operator:anna", "operator.stop", { reason: "enough" });
  await recording.close();
  return path.join(recording.folder, "audit.jsonl");
}

t.test("verify and explain", async (t) => {
  const file = await record();
  const folder = path.dirname(file);
  const text = await readFile(file, "utf8");
  const lines = text.trimEnd().split("\n");

  t.match(json(audit("verify", file, "--json")), {
    ok: true,
    entries: lines.length,
    firstBad: null,
    checkpoint: { seq: lines.length },
  });
  await writeFile(file, `${lines.slice(0, -2).join("\n")}\n`);
  const cut = audit("verify", file, "--json");
  t.equal(cut.code, 6);
  t.match(
    json(cut),
    { ok: false, firstBad: lines.length - 1, why: /cut/ },
    "a clean cut, by the checkpoint beside",
  );
  await writeFile(file, text.replace('"enough"', '"Enough"'));
  t.match(json(audit("verify", root, "--json")), { ok: false, why: /was altered/ }, "the newest of a folder");
  await writeFile(file, text);

  const told = audit("explain", folder);
  t.equal(told.code, 0);
  t.match(told.out, /step 1: INSERT, proposed by rules/);
  t.match(told.out, /stroke {2}depthM=0.001/);
  t.match(told.out, /succeeded: landed/);
  t.match(told.out, /refused; 9 of 10 conditions hold/);
  t.match(told.out, /registered: no/);
  t.match(told.out, /operator\.stop by operator:anna: reason: enough/);
  t.equal([...told.out.matchAll(/image +frames\/0001-MIC[12]-1\.jpg/g)].length, 4);

  const page = path.join(folder, "story.html");
  t.equal(audit("explain", folder, "--html").code, 0);
  const html = await readFile(page, "utf8");
  t.notMatch(html, script, "text from outside is no markup");
  t.match(html, /src="frames\/0001-MIC1-1\.jpg"/);
  await writeFile(path.join(folder, "frames", "0001-MIC1-1.jpg"), "another picture");
  audit("explain", folder, "--html");
  t.match(await readFile(page, "utf8"), /the file was altered/);
});

t.test("a file that is not there", async (t) => {
  const none = audit("verify", path.join(root, "none"), "--json");
  t.equal(none.code, 6);
  t.match(json(none), { error: { code: "CONFIG_UNREADABLE" } });
});
