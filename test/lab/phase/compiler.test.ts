/** Gate and equations 1 to 3 against cases computed by hand, the published figures, and laws that must hold always. */
import fc from "fast-check";
import t from "tap";
import {
  arrivalWeight,
  compileEpisodes,
  constantsSchema,
  creditWindow,
  gate,
  publishedConstants,
  windowSize,
} from "../../../src/lab/phase/compiler.js";

const seed = Number(process.env["SURGICLAW_SEED"] ?? 20260211);
t.comment(`seed ${seed}`);

const zeros = (steps: number): number[] => new Array<number>(steps).fill(0);
const sum = (list: Iterable<number>): number => [...list].reduce((total, value) => total + value, 0);
const close = (t: Tap, actual: number | undefined, wanted: number, within: number, name: string): void =>
  void t.ok(Math.abs((actual ?? NaN) - wanted) <= within, `${name}: ${actual} against ${wanted}`);
type Tap = Pick<typeof t, "ok">;

t.test("the constants are the published ones, and unsound ones are refused", async (t) => {
  t.same(publishedConstants, {
    minConfidence: 0.7,
    creditHalfWidth: 10,
    arrivalSigma: 8,
    creditByRank: [0, 0, 0.2, 0.55, 0.55, 0.9],
    spread: "arrival",
    creditPriority: 4,
    arrivalPriority: 1,
  });
  const refused = [
    { creditHalfWidth: 0.49 },
    { arrivalSigma: 0 },
    { creditByRank: [0.1, 0.1, 0.2, 0.55, 0.55, 0.9] },
    { creditByRank: [0, 0, 0.2, 0.55, 0.5, 0.9] },
    { creditByRank: [0, 0, 0.2, 0.55, 0.9] },
    { minConfidence: Number.NaN },
    { spread: "both" },
    { halfWidth: 10 },
  ];
  for (const constants of refused) {
    t.notOk(constantsSchema.safeParse(constants).success, JSON.stringify(constants));
  }
});

t.test("windows by hand: whole and half middles, both ends of the episode, the smallest width", async (t) => {
  const cases: [number, number, number, [number, number]][] = [
    [30, 75, 10, [20, 40]],
    [30.5, 75, 10, [21, 40]],
    [0, 75, 10, [0, 10]],
    [74, 75, 10, [64, 74]],
    [4.5, 75, 10, [0, 14]],
    [70.5, 75, 10, [61, 74]],
    [3, 5, 10, [0, 4]],
    [2.5, 5, 0.5, [2, 3]],
    [2, 5, 0.5, [2, 2]],
    [0, 1, 0.5, [0, 0]],
    // A width one rounding below 40 does not reach step 190.
    [230, 300, 40 - 7.2e-15, [191, 269]],
  ];
  for (const [middle, steps, halfWidth, [first, last]] of cases) {
    t.same(creditWindow(middle, steps, halfWidth), { first, last }, `${middle} of ${steps} at ${halfWidth}`);
  }
  t.equal(windowSize(creditWindow(30, 75, 10)), 21, "published: 21 steps at a whole middle");
  t.equal(windowSize(creditWindow(30.5, 75, 10)), 20, "20 at a half one");
  t.equal(windowSize(creditWindow(0, 75, 10)), 11, "11 at an end");
});

t.test("equations 1 to 3 by hand in an episode of five steps", async (t) => {
  // Bracket [1, 2], middle 1.5, half-width 1: |t - 1.5| <= 1 holds for 1 and 2. Rank 3 earns 0.55: 0.275 each.
  const constants = constantsSchema.parse({ creditHalfWidth: 1, arrivalSigma: 2 });
  const [one] = compileEpisodes([{ rank: 3, arrival: [1, 2], rewards: [0, 0, 0, 0, 1] }], constants);
  t.equal(one?.middle, 1.5);
  t.same(one?.window, { first: 1, last: 2 });
  t.same([...(one?.credited ?? [])], [0, 0.275, 0.275, 0, 1], "the environment's reward stays");
  // exp(-d^2/8) for d = 1.5, 0.5, 0.5, 1.5, 2.5.
  const w = [
    0.7548396019890073, 0.9692332344763441, 0.9692332344763441, 0.7548396019890073, 0.4578333617716143,
  ];
  w.forEach((wanted, step) => close(t, one?.weight[step], wanted, 1e-15, `w(${step})`));
  // 1 + 4 * 0.275 + w inside, 1 + w outside.
  const priority = w.map((value, step) => 1 + (step === 1 || step === 2 ? 1.1 : 0) + value);
  const total = sum(priority);
  priority.forEach((value, step) => close(t, one?.probability[step], value / total, 1e-15, `p(${step})`));
});

t.test("the published arithmetic: g = 0.55, T = 75, middle 30", async (t) => {
  const compile = (arrival: [number, number]) =>
    compileEpisodes([{ rank: 3, arrival, rewards: zeros(75) }], publishedConstants)[0];
  const whole = compile([30, 30]);
  close(t, whole?.credited[30], 0.02619, 5e-6, "extra reward a step");
  close(t, compile([30, 31])?.credited[30], 0.0275, 1e-15, "at a half middle");
  const floor = 1 / (75 + 4 * 0.55 + sum(whole?.weight ?? []));
  close(t, (whole?.probability[30] ?? 0) / floor, 2.1048, 5e-5, "largest priority against the floor of 1");
  close(t, sum(whole?.probability.slice(20, 41) ?? []), 0.4058, 5e-5, "sampling mass inside the window");
  close(t, 21 / 75, 0.28, 1e-15, "under uniform sampling");
});

t.test("one distribution over all accepted records, not one each", async (t) => {
  // Without weight and credit priority every transition is equal: 1 / (3 + 5).
  const flat = constantsSchema.parse({ creditPriority: 0, arrivalPriority: 0 });
  const bank = compileEpisodes(
    [
      { rank: 2, arrival: [0, 2], rewards: zeros(3) },
      { rank: 5, arrival: [4, 4], rewards: zeros(5) },
    ],
    flat,
  );
  for (const { probability } of bank) for (const p of probability) t.equal(p, 1 / 8);
  t.throws(() => compileEpisodes([], flat), { code: "PHASE_FILE_INVALID" }, "an empty bank has none");
});

t.test("the control without a time: rank kept, credit and weight alike over the episode", async (t) => {
  const uniform = constantsSchema.parse({ spread: "episode" });
  const bank = compileEpisodes(
    [
      { rank: 2, arrival: [3, 3], rewards: zeros(10) },
      { rank: 5, arrival: [3, 3], rewards: [0, 0, 0, 0, 1] },
    ],
    uniform,
  );
  // 0.2 over ten steps, 0.9 over five; priorities 1 + 4 * 0.02 + 1 and 1 + 4 * 0.18 + 1.
  const total = 10 * 2.08 + 5 * 2.72;
  bank[0]?.credited.forEach((value) => close(t, value, 0.02, 1e-15, "credit"));
  bank[0]?.probability.forEach((value) => close(t, value, 2.08 / total, 1e-15, "probability"));
  t.same([...(bank[1]?.weight ?? [])], [1, 1, 1, 1, 1]);
  [0.18, 0.18, 0.18, 0.18, 1.18].forEach((wanted, step) =>
    close(t, bank[1]?.credited[step], wanted, 1e-15, `${step}`),
  );
  bank[1]?.probability.forEach((value) => close(t, value, 2.72 / total, 1e-15, "probability"));
});

t.test("rank 1 passes without credit; ranks 3 and 4 earn the same; success adds to the reward", async (t) => {
  const credit = (rank: number): number => {
    const rewards = [...zeros(20), 1];
    const [one] = compileEpisodes([{ rank, arrival: [10, 10], rewards }], publishedConstants);
    return sum(one?.credited ?? []) - 1;
  };
  t.same(gate({ rank: 1, arrival: [3, 3], confidence: 0.7 }, 75, 0.7), []);
  [0, 0.2, 0.55, 0.55, 0.9].forEach((wanted, at) =>
    close(t, credit(at + 1), wanted, 1e-12, `rank ${at + 1}`),
  );
});

t.test("the gate names every reason", async (t) => {
  const good = { rank: 3, arrival: [5, 9] as const, confidence: 0.9 };
  const cases: [object, string[]][] = [
    [{}, []],
    [{ confidence: 0.7 }, []],
    [{ confidence: 0.6999 }, ["confidence"]],
    [{ confidence: Number.NaN }, ["confidence"]],
    [{ rank: 0, arrival: null }, ["rank", "arrival"]],
    [{ arrival: null }, ["arrival"]],
    [{ arrival: [0, 74] }, []],
    [{ arrival: [0, 75] }, ["bracket"]],
    [{ arrival: [-1, 3] }, ["bracket"]],
    [{ arrival: [9, 5] }, ["bracket"]],
    [{ rank: 0, arrival: [75, 80], confidence: 0 }, ["confidence", "rank", "bracket"]],
  ];
  for (const [change, reasons] of cases) {
    t.same(gate({ ...good, ...change }, 75, 0.7), reasons, JSON.stringify(change));
  }
});

t.test("laws: credit conserved, windows inside, weights in (0, 1], one distribution", async (t) => {
  const episode = fc
    .record({ steps: fc.integer({ min: 1, max: 230 }), rank: fc.integer({ min: 1, max: 5 }) })
    .chain(({ steps, rank }) =>
      fc
        .tuple(
          fc.nat(steps - 1),
          fc.nat(steps - 1),
          fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: steps, maxLength: steps }),
        )
        .map(([a, b, rewards]) => ({ rank, arrival: [Math.min(a, b), Math.max(a, b)] as const, rewards })),
    );
  const constants = fc.record({
    creditHalfWidth: fc.double({ min: 0.5, max: 40, noNaN: true }),
    arrivalSigma: fc.double({ min: 0.5, max: 40, noNaN: true }),
    creditPriority: fc.double({ min: 0, max: 10, noNaN: true }),
    arrivalPriority: fc.double({ min: 0, max: 10, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(episode, { minLength: 1, maxLength: 6 }), constants, (episodes, chosen) => {
      const set = constantsSchema.parse(chosen);
      const bank = compileEpisodes(episodes, set);
      let mass = 0;
      bank.forEach(({ credited, weight, probability, window, middle }, index) => {
        const { rewards = [], rank = 0 } = episodes[index] ?? {};
        // Independent of creditWindow: the definition, step by step.
        const inside = rewards.flatMap((_, step) =>
          Math.abs(step - middle) <= set.creditHalfWidth ? [step] : [],
        );
        if (inside[0] !== window.first || inside.at(-1) !== window.last) throw new Error("window");
        const extra = sum(credited) - sum(rewards);
        if (Math.abs(extra - (set.creditByRank[rank] ?? NaN)) > 1e-9) throw new Error(`credit ${extra}`);
        rewards.forEach((reward, step) => {
          if (!inside.includes(step) && credited[step] !== reward) throw new Error("credit outside");
        });
        if (!weight.every((w) => w >= 0 && w <= 1)) throw new Error("weight");
        if (!probability.every((p) => p > 0)) throw new Error("probability");
        mass += sum(probability);
      });
      if (Math.abs(mass - 1) > 1e-9) throw new Error(`mass ${mass}`);
    }),
    { seed, numRuns: 120 },
  );
  t.equal(arrivalWeight(7, 7, 8), 1);
});
