/** Exported policies computed by ONNX Runtime, beside the trainer itself and the double-precision evaluation. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import t from "tap";
import { Random } from "../../../../src/base/random.js";
import { onnxModel } from "../../../../src/lab/learning/export/onnx-model.js";
import { integer, text } from "../../../../src/lab/learning/export/protobuf.js";
import { createLearner } from "../../../../src/lab/learning/native-learner.js";
import { encodePolicy, policyActions, readPolicy } from "../../../../src/lab/learning/policy-file.js";

/** What of ONNX Runtime is used here. */
interface OnnxRuntime {
  readonly InferenceSession: {
    create(model: Uint8Array): Promise<{
      readonly inputNames: readonly string[];
      readonly outputNames: readonly string[];
      run(inputs: Record<string, object>): Promise<Record<string, { readonly data: Float32Array }>>;
    }>;
  };
  readonly Tensor: new (type: "float32", data: Float32Array, shape: readonly number[]) => object;
}
const { InferenceSession, Tensor } = createRequire(import.meta.url)("onnxruntime-node") as OnnxRuntime;

const [observationSize, actionSize, rows] = [30, 4, 50];

// Examples of the encoding's documentation: 150 in field 1 is 08 96 01; "testing" in field 2 is 12 07 74 65 73 74 69 6e 67.
t.test("the wire format is that of Protocol Buffers", async (t) => {
  t.same([...integer(1, 150)], [0x08, 0x96, 0x01]);
  t.same([...text(2, "testing")], [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
});

t.test("ONNX Runtime, the trainer and the policy file act alike to 1e-5", async (t) => {
  const random = new Random(5);
  const learner = createLearner({ observationSize, actionSize, hidden: [64, 48], seed: 2 });
  const each = (low: number, high: number): Float32Array =>
    Float32Array.from({ length: observationSize }, () => random.uniform(low, high));
  learner.setNormaliser(each(-1, 1), each(0.5, 8));
  const about = { task: "BlockPick", run: "test", updates: 0, observationSize, actionSize };
  const file = path.join(await mkdtemp(path.join(tmpdir(), "surgiclaw-onnx-")), "policy.json");
  await writeFile(file, encodePolicy(about, learner.actor()));
  const policy = await readPolicy(file);

  // Wide enough that some are clipped.
  const observations = Float32Array.from({ length: rows * observationSize }, () => random.normal(0, 2));
  const [trained, evaluated] = [new Float32Array(rows * actionSize), new Float32Array(rows * actionSize)];
  learner.act(observations, "evaluate", trained);
  policyActions(policy, observations, evaluated);
  const session = await InferenceSession.create(onnxModel(policy));
  t.same([session.inputNames, session.outputNames], [["observation"], ["action"]]);
  const exported: number[] = [];
  for (let row = 0; row < rows; row++) {
    const values = observations.subarray(row * observationSize, (row + 1) * observationSize);
    const input = new Tensor("float32", Float32Array.from(values), [1, observationSize]);
    const { action } = await session.run({ observation: input });
    exported.push(...action!.data);
  }
  const worst = (other: Float32Array) => Math.max(...exported.map((value, i) => Math.abs(value - other[i]!)));
  t.equal(exported.length, rows * actionSize);
  t.ok(worst(trained) < 1e-5, `trainer: ${worst(trained)}`);
  t.ok(worst(evaluated) < 1e-5, `policy file: ${worst(evaluated)}`);
  t.ok(Math.max(...exported) - Math.min(...exported) > 0.05, "the actions differ");
});
