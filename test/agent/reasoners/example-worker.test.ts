/** The example worker itself, where Python with pyzmq, numpy and Pillow is present: whole procedures, and each misbehaviour. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../../src/base/paths.js";
import { ZeromqWorkerReasoner } from "../../../src/agent/reasoners/zeromq-worker.js";
import { FakeCell } from "../loop/fake-cell.js";

const python = process.env["SURGICLAW_PYTHON"] ?? "/usr/bin/python3";

function present(): boolean {
  try {
    execFileSync(python, ["-c", "import zmq, numpy, PIL"], { stdio: "ignore", timeout: 30000 });
    return true;
  } catch {
    return false;
  }
}

const script = path.join(projectRoot, "examples/reasoner-worker/worker.py");

async function start(address: string, ...flags: string[]): Promise<ChildProcess> {
  const child = spawn(python, [script, "--connect", address, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`the worker ended with ${code ?? "a signal"}`)));
  });
  return child;
}

const misbehaviours: Readonly<Record<string, object>> = {
  hang: { refusals: { transport: 3 } },
  die: { refusals: { transport: 3 } },
  nonsense: { refusals: { count: 3 } },
  unsafe: { refusals: { prerequisite: 3 }, blockedViolations: 3 },
  late: { refusals: { transport: 3 } },
  foreign: { refusals: { transport: 3 } },
};

/** Images of known content, made with the worker's own libraries: a vertical dark bar whose edges have sigma 3 px. */
const lookCheck = `
import io, json, math, sys
sys.path.insert(0, sys.argv[1])
import numpy
from PIL import Image
import worker
x = numpy.arange(512)
step = lambda at: numpy.array([0.5 * (1 + math.erf((i - at) / (3 * math.sqrt(2)))) for i in x])
row = 160 - 120 * (step(240) - step(272))
out = []
for scale in (1.0, 2.0):
    image = numpy.clip(numpy.tile(row * scale, (512, 1)), 0, 255).astype(numpy.uint8)
    data = io.BytesIO()
    Image.fromarray(image).save(data, "JPEG", quality=95)
    out.append(worker.look({"reduce": 4}, data.getvalue()))
print(json.dumps(out))
`;

t.test("the example worker", { skip: present() ? false : `${python} lacks zmq, numpy or PIL` }, async (t) => {
  const never = new AbortController().signal;
  const folder = await mkdtemp(path.join(tmpdir(), "surgiclaw-worker-"));

  t.test("looks at its images", async (t) => {
    const text = execFileSync(python, ["-c", lookCheck, path.dirname(script)], {
      encoding: "utf8",
      timeout: 60000,
    });
    const [plain, bright] = JSON.parse(text) as Record<string, number>[];
    // 32 of 512 columns are darker by 120 grey levels; 3 px at a reduction of 4 are 12 px of the frame.
    t.ok(Math.abs((plain?.["mean"] ?? 0) - (160 - (120 * 32) / 512)) < 1, `mean ${plain?.["mean"]}`);
    t.ok(Math.abs((plain?.["edge_sigma_px"] ?? 0) - 12) < 1.5, `edge spread ${plain?.["edge_sigma_px"]}`);
    t.ok((plain?.["clipped"] ?? 1) < 0.001);
    t.ok((bright?.["clipped"] ?? 0) > 0.85, `clipped ${bright?.["clipped"]}`);
  });

  t.test("runs a whole procedure", async (t) => {
    const address = `ipc://${path.join(folder, "good")}`;
    const reasoner = new ZeromqWorkerReasoner({ endpoint: address, mode: "bind", budgetS: 10 });
    await reasoner.start();
    const child = await start(address, "--misbehave", "nonsense", "--after", "2", "--times", "2");
    const cell = new FakeCell();
    cell.reasoner = reasoner;
    const result = await cell.loop({ reasonerBudgetS: 10 }).run(never);
    t.equal(result.outcome, "completed", result.reason);
    t.match(result.counts, { refused: 2, skillsFailed: 0 });
    t.same(cell.rejudge().violations, []);
    child.kill();
    await reasoner.close();
  });

  for (const [mode, counts] of Object.entries(misbehaviours)) {
    t.test(`${mode}: refusals, a person, no dispatch`, async (t) => {
      const address = `ipc://${path.join(folder, mode)}`;
      const slow = mode === "nonsense" || mode === "unsafe";
      const reasoner = new ZeromqWorkerReasoner({
        endpoint: address,
        mode: "bind",
        budgetS: slow ? 10 : 0.4,
      });
      await reasoner.start();
      const child = await start(address, "--misbehave", mode);
      const cell = new FakeCell();
      cell.reasoner = reasoner;
      const result = await cell.loop({ reasonerBudgetS: 12 }).run(never);
      t.match(result, { outcome: "operator", state: "waiting_operator", counts });
      t.equal(result.counts.skillsRun, 0);
      t.same(cell.rejudge(), { dispatched: 0, violations: [] });
      if (mode === "foreign") t.ok(reasoner.counters.foreign > 0);
      child.kill();
      await reasoner.close();
    });
  }
});
