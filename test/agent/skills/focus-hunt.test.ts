import t from "tap";
import { defocusOf, focusByLaw, FocusHunt } from "../../../src/agent/skills/focus-hunt.js";

const limits = { min: -2e-3, max: 2e-3 };
/** σ² = 0.8² + (1.2 dz / 50 µm)². */
const blurAt = (focusM: number, sharpM: number): number => Math.hypot(0.8, (1.2 * (focusM - sharpM)) / 5e-5);

/** Hunts a needle that is sharp at `sharpM` and seen out to `seenM` of defocus; `error` scales what is measured. */
function hunted(
  sharpM: number,
  seenM: number,
  error: (k: number) => number = () => 1,
): { focusM: number | undefined; looks: number } {
  const hunt = new FocusHunt(0, limits, 5e-5);
  for (let k = 0; k < 20; k++) {
    const focusM = hunt.next();
    if (focusM === undefined) return { focusM: hunt.focusM, looks: hunt.looks };
    const seen = Math.abs(focusM - sharpM) < seenM;
    hunt.add(focusM, seen ? blurAt(focusM, sharpM) * error(k) : undefined);
  }
  throw new Error("it never ends");
}

t.test("blur speaks of defocus", async (t) => {
  t.equal(defocusOf(0.8, 5e-5), 0);
  t.equal(defocusOf(0.5, 5e-5), 0, "sharper than sharp is in focus");
  // At the end of the depth of field: √(0.8² + 1.2²) px.
  t.ok(Math.abs(defocusOf(Math.hypot(0.8, 1.2), 5e-5) - 5e-5) < 1e-12);
  t.ok(Math.abs(defocusOf(Math.hypot(0.8, 4.8), 5e-5) - 2e-4) < 1e-12);
});

t.test("two blurs on the law give the focus, on either side or between", async (t) => {
  for (const [a, b] of [
    [0, 1e-4],
    [-3e-4, -1e-4],
    [4e-4, 6e-4],
  ] as const) {
    const samples = [a, b].map((focusM) => ({ focusM, sigmaPx: blurAt(focusM, 1.37e-4) }));
    t.ok(Math.abs((focusByLaw(samples, 5e-5) ?? NaN) - 1.37e-4) < 1e-9, `${a}, ${b}`);
  }
  t.equal(focusByLaw([{ focusM: 0, sigmaPx: 3 }], 5e-5), undefined, "one position has two sides");
  t.equal(
    focusByLaw(
      [
        { focusM: 0, sigmaPx: 3 },
        { focusM: 0, sigmaPx: 3.1 },
      ],
      5e-5,
    ),
    undefined,
  );
});

t.test("from up to half a millimetre off, four looks at most end near the focus", async (t) => {
  for (let sharpM = -5e-4; sharpM <= 5.01e-4; sharpM += 2.5e-5) {
    const { focusM, looks } = hunted(sharpM, 6e-4);
    // One look that is nearly sharp will do: it does not know its side, and is no farther off than its blur says.
    t.ok(Math.abs((focusM ?? NaN) - sharpM) < (looks === 1 ? 6e-5 : 2e-6), `${sharpM}: ${focusM}`);
    t.ok(looks <= 4, `${sharpM}: ${looks} looks`);
  }
});

t.test(
  "a needle that is seen only nearby, and blurs measured to 5 %, cost looks and micrometres",
  async (t) => {
    for (let sharpM = -5e-4; sharpM <= 5.01e-4; sharpM += 2.5e-5) {
      const { focusM, looks } = hunted(sharpM, 2.2e-4, (k) => (k % 2 === 0 ? 1.05 : 0.95));
      t.ok(Math.abs((focusM ?? NaN) - sharpM) < 6.5e-5, `${sharpM}: ${focusM}`);
      t.ok(looks <= 7, `${sharpM}: ${looks} looks`);
    }
  },
);

t.test("nothing found is said, and so is a blur that is no needle's", async (t) => {
  const none = hunted(3e-3, 2e-4);
  t.equal(none.focusM, undefined);
  t.equal(none.looks, 5);
  // A vessel: as blurred wherever the focus stands.
  const hunt = new FocusHunt(0, limits, 5e-5);
  for (let k = 0; k < 20; k++) {
    const focusM = hunt.next();
    if (focusM === undefined) break;
    hunt.add(focusM, 9);
  }
  t.equal(hunt.focusM, undefined);
  t.match(hunt.coverage, /^between .* mm$/);
});

t.test("the stage is not asked beyond its limits", async (t) => {
  const hunt = new FocusHunt(1.9e-3, limits, 5e-5);
  for (let k = 0; k < 5; k++) {
    const focusM = hunt.next() ?? NaN;
    t.ok(focusM >= limits.min && focusM <= limits.max);
    hunt.add(focusM, undefined);
  }
});
