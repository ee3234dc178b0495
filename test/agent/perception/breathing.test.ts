import t from "tap";
import { Random } from "../../../src/base/random.js";
import { fitBreathing } from "../../../src/agent/perception/breathing.js";

t.test(
  "end-expiration is found within 0.6 px, a third of the pulse, from three breaths at 20 frames/s",
  async (t) => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = new Random(seed, "breathing");
      const hz = random.uniform(1, 1.5);
      const pulse = random.uniform(5, 7);
      const phase = random.uniform(0, 1);
      // A hand-made motion: squared raised cosine of 40 px along (0.1, -1) in one view and (0.2, -0.9) in the other.
      const samples = Array.from({ length: 64 }, (_, i) => {
        const timeS = 100 + i / 20 + random.uniform(-0.004, 0.004);
        const raised = 0.5 - 0.5 * Math.cos(2 * Math.PI * (hz * timeS + phase));
        const beat = 2 * Math.sin(2 * Math.PI * pulse * timeS);
        const along = 40 * raised * raised + beat;
        return {
          timeS,
          coordinates: [900 + 0.1 * along, 1100 - along, 1000 + 0.2 * along, 1050 - 0.9 * along].map(
            (value) => value + random.normal(0, 0.15),
          ),
        };
      });
      const fit = await fitBreathing(samples);
      t.ok(Math.abs(fit.breathingHz - hz) < 0.02, `seed ${seed}: ${fit.breathingHz} against ${hz} Hz`);
      [900, 1100, 1000, 1050].forEach((expected, i) =>
        t.ok(
          Math.abs((fit.rest[i] ?? 0) - expected) < 0.6,
          `seed ${seed}, coordinate ${i}: ${fit.rest[i]} against ${expected}`,
        ),
      );
      const next = fit.nextRestS(110);
      const cycles = hz * next + phase;
      t.ok(Math.abs(cycles - Math.round(cycles)) < 0.06, "end-expiration is predicted in time");
    }
  },
);

t.test("too few frames are refused", async (t) => {
  await t.rejects(fitBreathing([{ timeS: 0, coordinates: [1, 2] }]), { code: "VISION_UNKNOWN" });
});
