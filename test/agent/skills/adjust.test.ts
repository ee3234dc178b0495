import t from "tap";
import { exposureFactor, exposureInBand } from "../../../src/agent/skills/adjust-exposure.js";
import { leastBlur, tipBeyondFocus } from "../../../src/agent/skills/adjust-focus.js";

t.test("the step of the exposure is the ratio of signals above black, and bounded", async (t) => {
  // Target 110, black 6: a mean of 58 is half the signal.
  t.equal(exposureFactor({ mean: 58, clippedHigh: 0 }), 2);
  t.equal(exposureFactor({ mean: 214, clippedHigh: 0 }), 0.5);
  t.equal(exposureFactor({ mean: 110, clippedHigh: 0 }), 1);
  t.equal(exposureFactor({ mean: 6, clippedHigh: 0 }), 4, "black: as bold as allowed");
  t.equal(exposureFactor({ mean: 0, clippedHigh: 0 }), 4);
  t.equal(exposureFactor({ mean: 240, clippedHigh: 0.2 }), 1 / 3);
  t.equal(exposureFactor({ mean: 255, clippedHigh: 1 }), 1 / 8);
});

t.test("from four stops off, a linear sensor is in band in four frames", async (t) => {
  for (const stops of [-4, -3, -1, 1, 2, 4]) {
    let exposure = 2 ** stops;
    let frames = 0;
    // A scene of half its pixels at 0.6 and half at 1.4 of the mean signal of 104 above black.
    const frame = (): { mean: number; clippedHigh: number } => {
      const levels = [0.6, 1.4].map((part) => 6 + 104 * exposure * part);
      const mean = levels.reduce((sum, level) => sum + Math.min(255, level) / 2, 0);
      return { mean, clippedHigh: levels.filter((level) => level >= 255).length / 2 };
    };
    while (!exposureInBand(frame()) && frames < 10) {
      exposure *= exposureFactor(frame());
      frames++;
    }
    t.ok(frames <= 4, `${stops} stops: ${frames} frames`);
  }
});

t.test("in band means mean and clipping", async (t) => {
  t.ok(exposureInBand({ mean: 110, clippedHigh: 0 }));
  t.notOk(exposureInBand({ mean: 110, clippedHigh: 0.02 }));
  t.notOk(exposureInBand({ mean: 60, clippedHigh: 0 }));
  t.notOk(exposureInBand({ mean: 160, clippedHigh: 0 }));
  t.notOk(exposureInBand({ mean: NaN, clippedHigh: 0 }));
});

t.test("the tip lies beyond the plane of focus by what the shank above it is deep", async (t) => {
  // 100 px above the tip on a needle at 35° to the view: 0.574 m deeper per metre, 0.819 m across it, 1.17 µm a pixel.
  const across = 0.819 / 1.17e-6;
  t.ok(Math.abs(tipBeyondFocus(100, 0.574, [0, across]) - 8.2e-5) < 1e-6);
  t.ok(Math.abs(tipBeyondFocus(-50, 0.574, [across * 0.6, across * 0.8]) + 4.1e-5) < 1e-6, "behind the tip");
  t.equal(tipBeyondFocus(1000, 0.574, [0, across]), 1e-4, "no farther than one move may go");
  t.equal(tipBeyondFocus(NaN, 0.574, [0, across]), 0);
  t.equal(tipBeyondFocus(undefined, 0.574, [0, across]), 0);
});

t.test("the least blur from three positions on the optical law", async (t) => {
  // σ² = 0.8² + (1.2 dz / 50 µm)², sharp at 137 µm.
  const sigma = (focusM: number): number => Math.hypot(0.8, (1.2 * (focusM - 1.37e-4)) / 5e-5);
  const samples = [0.6e-4, 1.2e-4, 2.4e-4].map((focusM) => ({ focusM, sigmaPx: sigma(focusM) }));
  t.ok(Math.abs((leastBlur(samples) ?? NaN) - 1.37e-4) < 1e-9);
  const upsideDown = [0, 1e-4, 2e-4].map((focusM, i) => ({ focusM, sigmaPx: [1, 2, 1][i] ?? NaN }));
  t.equal(leastBlur(upsideDown), undefined);
});
