import t from "tap";
import { stepLoop, type LoopContact, type LoopGeometry, type LoopState } from "../../src/twin/electrode.js";

const um = 1e-6;
const geometry: LoopGeometry = {
  home: [0, 0, 0],
  innerY: 16 * um,
  innerZ: 50 * um,
  wireM: 5 * um,
  barbThicknessM: 8 * um,
  barbFreeM: 20 * um,
};
/** A barb along +x on a needle that points down its z; still, in air. */
const air: LoopContact = {
  barbEnd: [-100 * um, 0, 0],
  barbDirection: [1, 0, 0],
  needleDirection: [0, 0, 1],
  velocity: [0, 0, 0],
  depthM: -1e-3,
  dwellS: 0,
  strokeSpeed: 0,
  material: [1e-4, 2e-4],
  hookPresent: true,
};
const onCartridge: LoopState = { kind: "cartridge", displacement: [0, 0, 0], threaded: false };
const threaded: LoopState = { ...onCartridge, threaded: true };
const hooked: LoopState = { kind: "hooked" };
const barbAt = (x: number, y = 0, z = 0): LoopContact => ({ ...air, barbEnd: [x * um, y * um, z * um] });

t.test("the barb threads the opening only when all of it fits through", async (t) => {
  // Play: (16 − 8) / 2 = 4 µm across, (50 − 8) / 2 = 21 µm along.
  t.equal(stepLoop(onCartridge, geometry, barbAt(10, 3.9, 20)).event, "threaded");
  t.equal(stepLoop(onCartridge, geometry, barbAt(10, 4.1, 0)).event, undefined);
  t.equal(stepLoop(onCartridge, geometry, barbAt(10, 0, 21.5)).event, undefined);
  t.equal(stepLoop(onCartridge, geometry, barbAt(5, 0, 0)).event, undefined, "not far enough through yet");
  const from = { ...barbAt(-10), barbDirection: [-1, 0, 0] as const };
  t.equal(stepLoop(onCartridge, geometry, from).event, "threaded", "from the other side alike");
  t.equal(stepLoop(onCartridge, geometry, { ...barbAt(10), hookPresent: false }).event, undefined);
});

t.test("a barb beside the opening pushes the ring, which springs back", async (t) => {
  const { state } = stepLoop(onCartridge, geometry, barbAt(10, 8));
  t.ok(state.kind === "cartridge" && state.displacement[0] > 0 && !state.threaded);
  const later = stepLoop(state, geometry, air).state;
  t.ok(later.kind === "cartridge" && state.kind === "cartridge");
  if (later.kind === "cartridge" && state.kind === "cartridge")
    t.ok(later.displacement[0] > 0 && later.displacement[0] < state.displacement[0]);
});

t.test("lifted slowly it peels at 15 µm, which is 0.45 mN at 30 N/m", async (t) => {
  t.equal(stepLoop(threaded, geometry, barbAt(10, 0, 21 + 14)).state.kind, "cartridge");
  t.equal(stepLoop(threaded, geometry, barbAt(10, 0, 21 + 16)).event, "hooked");
  const fast = { ...barbAt(10, 0, 21 + 16), velocity: [0, 0, 0.03] as const };
  t.equal(stepLoop(threaded, geometry, fast).event, "slipped", "0.48 mN and 0.6 mN of drag are above 1 mN");
  t.equal(stepLoop(threaded, geometry, barbAt(10, 0, 21 + 40)).event, "slipped", "1.2 mN in one pull");
  t.equal(stepLoop(threaded, geometry, barbAt(10, 0, 21 + 300)).event, "torn", "9 mN tear it");
  t.equal(stepLoop(threaded, geometry, barbAt(-1)).event, "unthreaded");
});

t.test(
  "in air it rides on the hook, unless hauled away along the needle or with the hook gone",
  async (t) => {
    t.equal(stepLoop(hooked, geometry, { ...barbAt(1000), velocity: [0.03, 0, 0] }).state.kind, "hooked");
    // Backwards along the needle the thread pulls toward the tip: 0.1 mN + 0.02 N·s/m · 0.05 m/s = 1.1 mN.
    const hauled = { ...barbAt(1000), velocity: [0, 0, -0.05] as const };
    t.same(stepLoop(hooked, geometry, hauled), {
      state: { kind: "loose", position: [990 * um, 0, 0] },
      event: "slipped",
    });
    t.equal(
      stepLoop(hooked, geometry, { ...hauled, velocity: [0, 0, -0.04] }).event,
      undefined,
      "0.9 mN hold",
    );
    t.equal(
      stepLoop(hooked, geometry, { ...hauled, velocity: [0, 0, 0.05] }).event,
      undefined,
      "forwards too",
    );
    t.equal(stepLoop(hooked, geometry, { ...hauled, velocity: [0.5, 0, 0] }).event, "torn", "10 mN");
    t.equal(stepLoop(hooked, geometry, { ...barbAt(0), hookPresent: false }).event, "slipped");
  },
);

t.test("tissue keeps it on the way out once it has closed: 4 N/m, 20 ms, 1 mN", async (t) => {
  const out = (depthM: number, dwellS: number): LoopContact => ({
    ...air,
    depthM,
    dwellS,
    strokeSpeed: -0.1,
    velocity: [0, 0, -0.1],
  });
  t.same(stepLoop(hooked, geometry, out(6e-4, 0.16)), {
    state: { kind: "implanted", u: 1e-4, v: 2e-4, depthM: 6e-4 },
    event: "released",
  });
  // 2.4 mN when closed: 1 mN after 20 ms · ln (2.4 / 1.4) = 10.8 ms.
  t.equal(stepLoop(hooked, geometry, out(6e-4, 0.0105)).event, undefined);
  t.equal(stepLoop(hooked, geometry, out(6e-4, 0.0111)).event, "released");
  t.equal(stepLoop(hooked, geometry, out(2.4e-4, 10)).event, undefined, "0.96 mN at 240 µm never hold it");
  t.equal(stepLoop(hooked, geometry, { ...out(6e-4, 1), strokeSpeed: 0.1 }).event, undefined, "going in");
});

t.test("what is torn, loose or implanted stays so", async (t) => {
  const ends: LoopState[] = [
    { kind: "torn" },
    { kind: "loose", position: [1, 2, 3] },
    { kind: "implanted", u: 0, v: 0, depthM: 6e-4 },
  ];
  for (const state of ends) t.same(stepLoop(state, geometry, barbAt(10)), { state });
});
