import t from "tap";
import { pathObstacle, type ArmPath } from "../../../src/agent/skills/recover.js";

/** A planar arm of two unit links, shoulder 2 m high: manipulability is |sin q2|, height 2 + sin q1 + sin (q1 + q2). */
const arm: ArmPath = {
  manipulability: ([, elbow = 0]) => Math.abs(Math.sin(elbow)),
  nearSingularity: ([, elbow = 0]) => Math.abs(Math.sin(elbow)) < 0.1,
  flange: ([shoulder = 0, elbow = 0]) => [
    Math.cos(shoulder) + Math.cos(shoulder + elbow),
    0,
    2 + Math.sin(shoulder) + Math.sin(shoulder + elbow),
  ],
  raised: () => undefined,
};

t.test("out of a stretched elbow into a bent one is free", async (t) => {
  t.equal(pathObstacle(arm, [0, 0.01], [0, 1.2], 1), undefined);
  t.equal(pathObstacle(arm, [0, 0.5], [0, 1.2], 1), undefined, "nothing to leave");
});

t.test("through the singularity is not", async (t) => {
  t.match(pathObstacle(arm, [0, 0.05], [0, -1.2], 1), /manipulability falls/);
  t.match(pathObstacle(arm, [0, 0.6], [0, -0.6], 1), /another singularity/);
  t.match(
    pathObstacle(arm, [0, 0.5], [0, Math.PI + 0.5], 0),
    /another singularity/,
    "the folded elbow is one too",
  );
});

t.test("a path that ends near the singularity, or comes too low, is not", async (t) => {
  t.match(pathObstacle(arm, [0, 0.01], [0, 0.05], 1), /ends near a singularity/);
  // Elbow bent by 1 rad: at shoulder −π/2 the flange is at 2 − 1 − cos 1 = 0.46 m.
  t.match(pathObstacle(arm, [0, 1], [-Math.PI / 2, 1], 0.5), /come down/);
  t.equal(pathObstacle(arm, [0, 1], [-Math.PI / 2, 1], 0.45), undefined);
});
