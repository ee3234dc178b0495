import t from "tap";
import {
  FrameTree,
  frameSchema,
  type DeviceReading,
  type FrameDefinition,
} from "../../src/base/frame-tree.js";
import { apply, identity, rotationAbout, type Vec3 } from "../../src/base/transform.js";

const quarter = Math.PI / 2;
const frame = (definition: object): FrameDefinition => frameSchema.parse(definition);
const close = (a: Vec3, b: Vec3): boolean => a.every((value, i) => Math.abs(value - (b[i] ?? NaN)) < 1e-12);
const still: DeviceReading = { arm: identity, stages: new Map(), needle: 0 };

const tree = new FrameTree([
  frame({ name: "base", parent: "world", translationM: [1, 0, 0] }),
  frame({ name: "flange", parent: "base", driver: { kind: "arm" } }),
  frame({ name: "head", parent: "flange", translationM: [0, 0, 0.2], rpyRad: [0, 0, quarter] }),
  frame({
    name: "x",
    parent: "head",
    driver: { kind: "stage", axis: 1, motion: "linear", direction: [1, 0, 0] },
  }),
  frame({
    name: "tilt",
    parent: "x",
    translationM: [0, 0, 0.1],
    driver: { kind: "stage", axis: 4, motion: "rotary", direction: [1, 0, 0] },
  }),
  frame({ name: "tip", parent: "tilt", driver: { kind: "needle", direction: [0, 0, 1] } }),
]);

t.test("fixed edges add up", async (t) => {
  t.ok(close(tree.pose("tip", still).translation, [1, 0, 0.3]));
  t.ok(close(tree.pose("tip", still, "flange").translation, [0, 0, 0.3]), "under another ancestor");
  t.same(tree.names, ["base", "flange", "head", "x", "tilt", "tip"]);
});

t.test("each driver moves what hangs on it, in its own frame", async (t) => {
  const linear = { ...still, stages: new Map([[1, 0.01]]) };
  t.ok(
    close(tree.pose("tip", linear).translation, [1, 0.01, 0.3]),
    "the head is turned: its x is the world's y",
  );
  const stroke = { ...still, needle: 0.05 };
  t.ok(close(tree.pose("tip", stroke).translation, [1, 0, 0.35]));
  // Tilted by a quarter about the head's x (the world's y): z becomes the head's −y, the world's +x.
  const tilted = { ...stroke, stages: new Map([[4, quarter]]) };
  t.ok(close(tree.pose("tip", tilted).translation, [1.05, 0, 0.3]));
});

t.test("the arm's edge is what the arm reports", async (t) => {
  const arm = { rotation: rotationAbout([1, 0, 0], Math.PI), translation: [0, 2, 1] as Vec3 };
  const pose = tree.pose("tip", { ...still, arm });
  t.ok(close(pose.translation, [1, 2, 0.7]), "upside down: what was above is below");
  t.ok(close(apply(pose, [1, 0, 0]), [1, 1, 0.7]), "head x: the world's y, turned over");
});

t.test("a calibration replaces the drawn part of an edge and keeps its driver", async (t) => {
  const edges = new Map([["tip", { ...identity, translation: [0, 0, 0.5] as Vec3 }]]);
  t.ok(close(tree.pose("tip", { ...still, needle: 0.1 }, "tilt", edges).translation, [0, 0, 0.6]));
  t.ok(close(tree.fixedEdge("head").translation, [0, 0, 0.2]));
});

t.test("a tree that is none is refused by name", async (t) => {
  const code = "CONFIG_INVALID";
  const a = frame({ name: "a", parent: "world" });
  t.throws(() => new FrameTree([a, a]), { code, message: /frame a is defined twice/ });
  t.throws(() => new FrameTree([frame({ name: "world", parent: "a" })]), { code });
  t.throws(() => new FrameTree([frame({ name: "b", parent: "a" }), a]), { code, message: /its parent a/ });
  t.throws(() => tree.pose("nothing", still), { code, message: /nothing/ });
  t.throws(() => tree.pose("base", still, "head"), { code }, "an ancestor that lies below");
  t.throws(() => tree.fixedEdge("nothing"), { code });
});
