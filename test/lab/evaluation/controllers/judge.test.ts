import t from "tap";
import { defocusM, judgeStop } from "../../../../src/lab/evaluation/controllers/judge.js";
import type {
  TruthMicroscope,
  TruthMotion,
  TruthSample,
  TruthScene,
} from "../../../../src/lab/evaluation/truth-client.js";

const moved = (startS: number, endS?: number): TruthMotion => ({
  device: "stage",
  axis: 1,
  startS,
  ...(endS === undefined ? {} : { endS }),
  from: 0,
  to: 1,
});
const asked = { askedS: 10, untilS: 12 };

t.test("a stop counts when what moved stands soon and nothing moves before the reset", async (t) => {
  t.match(judgeStop([moved(1, 2), moved(9, 10.04), moved(9.5, 10.2)], asked), {
    success: true,
    timeS: 10.2 - 10,
  });
  t.match(judgeStop([], asked), { success: true, timeS: 0 });
  t.match(judgeStop([moved(9, 10.7)], asked), { success: false, failure: "something moved on" });
  t.match(judgeStop([moved(9)], asked), { success: false, timeS: null }, "still moving when it was asked");
  t.match(judgeStop([moved(11, 11.2)], asked), {
    success: false,
    failure: "something moved before the reset",
  });
  t.match(
    judgeStop([moved(12.5, 13)], asked),
    { success: true },
    "what moves after the reset is another matter",
  );
});

t.test("defocus is the tip's distance from the plane of focus along the optical axis", async (t) => {
  // Looks down z; the plane lies at 1 mm + 0.2 mm of the focus stage, the tip at 1.25 mm.
  const camera: TruthMicroscope = {
    name: "view",
    cameraFromWorld: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
    focusPoint: [0, 0, 1e-3],
    focusDirection: [0, 0, 1],
    metresPerPixel: 1e-6,
    centrePx: [1024, 1024],
  };
  const scene: TruthScene = {
    seed: 1,
    scenario: "test",
    microscopes: [camera, { ...camera, focusPoint: [0, 0, 1.25e-3] }],
    tissue: { origin: [0, 0, 0], normal: [0, 0, 1], uAxis: [1, 0, 0], vAxis: [0, 1, 0] },
  };
  const sample: TruthSample = {
    timeS: 0,
    tip: [5e-3, -2e-3, 1.25e-3],
    axis: [0, 0, 1],
    shift: [0, 0, 0],
    focusM: [2e-4, 0],
    wanderM: [
      [0, 0],
      [0, 0],
    ],
  };
  const [first = NaN, second = NaN] = defocusM(scene, sample);
  t.ok(Math.abs(first - 5e-5) < 1e-12 && Math.abs(second) < 1e-12, `${first}, ${second}`);
});
