import t from "tap";
import { errorBudgets, type BudgetFigures } from "../../../../src/lab/evaluation/controllers/error-budget.js";
import {
  controllerNames,
  type ControllerName,
  type ControllerOutcome,
} from "../../../../src/lab/evaluation/controllers/controller-trial.js";
import { reportControllers } from "../../../../src/lab/evaluation/controllers/report.js";

const figures: BudgetFigures = {
  stage: { stepM: 5e-7, repeatabilityM: 3e-7, lostMotionM: 1e-6, positionErrorM: 6e-6, travelM: 0.0147 },
  metresPerPixel: 1.171875e-6,
  tissueFactor: 1,
};
const near = (t: Tap, value: number | undefined, wanted: number, share = 1e-3): void => {
  t.ok(Math.abs((value ?? NaN) / wanted - 1) < share, `${value} for ${wanted}`);
};
type Tap = Pick<typeof t, "ok">;

t.test("the terms are what their formulas say", async (t) => {
  const budgets = errorBudgets(figures);
  const term = (controller: ControllerName, cause: RegExp): number | undefined =>
    budgets
      .filter((budget) => budget.controller === controller)
      .flatMap((budget) => budget.terms)
      .find((one) => cause.test(one.cause))?.sigma;
  // Worked by hand.
  near(t, term("registration", /step of the stage/), 1.4434e-7);
  near(t, term("registration", /scatter/), 1.7321e-7);
  near(t, term("localisation", /match of the pick/), 2.3438e-7);
  near(t, term("localisation", /rest of the breathing/), 0.3 * 1.171875e-6 * 0.27951);
  // Breathing: π · 1.25 Hz · 40 µm · 0.79057 = 124.2 µm/s; pulse: 104.49 · 0.86313 = 90.2 µm/s; 4 ms; cos 35°.
  near(t, term("localisation", /moment/), 5.029e-7, 5e-3);
  // 0.3 mm · 0.57358 · 4 mrad / √2.
  near(t, term("alignment", /stand-off/), 4.867e-7);
  // 0.28 s after rest the breath is at 0.5 − 0.5 cos 126° = 0.7939, squared 0.6303: 25.2 µm; pulse 2.08 µm rms.
  near(t, term("insertion", /sideways/), 0.2 * 0.57735 * 2.53e-5, 2e-2);
});

t.test("independent terms add in squares; means follow from the distribution of lengths", async (t) => {
  for (const { terms, sigma, controller, error, predicted } of errorBudgets(figures)) {
    near(
      t,
      sigma ** 2,
      terms.reduce((sum, one) => sum + one.sigma ** 2, 0),
    );
    const mean = { registration: 1.59577, localisation: 1.62021, alignment: 1.62021, insertion: 1.25331 };
    const factor = error === "angleRad" ? 1.25331 : mean[controller as keyof typeof mean];
    near(t, predicted, factor * sigma);
  }
});

t.test("the mean of the longer of two plane errors, against dice", async (t) => {
  // A generator of its own: the factor must not come from what it checks.
  let state = 12345;
  const uniform = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
  const length = (): number => Math.sqrt(-2 * Math.log(uniform()));
  let sum = 0;
  const throws = 40_000;
  for (let k = 0; k < throws; k++) sum += Math.max(length(), length());
  const localisation = errorBudgets(figures).find(({ controller }) => controller === "localisation");
  near(t, sum / throws, (localisation?.predicted ?? NaN) / (localisation?.sigma ?? NaN), 1e-2);
});

t.test("a tissue that moves twice as far costs more, a coarser stage too", async (t) => {
  const predicted = (changed: Partial<BudgetFigures>): number =>
    errorBudgets({ ...figures, ...changed }).find(({ controller }) => controller === "insertion")
      ?.predicted ?? NaN;
  t.ok(predicted({ tissueFactor: 2 }) > 1.2 * predicted({}));
  t.ok(predicted({ stage: { ...figures.stage, repeatabilityM: 6e-6 } }) > 1.2 * predicted({}));
});

t.test("the report sets what was observed beside it", async (t) => {
  const outcome: ControllerOutcome = {
    success: true,
    errors: { positionM: 2e-6 },
    timeS: 1,
    frames: 1,
    failure: null,
  };
  const outcomes = Object.fromEntries(controllerNames.map((name) => [name, outcome])) as Record<
    ControllerName,
    ControllerOutcome
  >;
  const { budget } = reportControllers(
    1,
    [{ trial: 1, cellSeed: 1, disturbance: { exposureStops: [1, 1], focusM: [1e-4, 1e-4] }, outcomes }],
    errorBudgets(figures),
  );
  const alignment = budget.find(
    ({ controller, error }) => controller === "alignment" && error === "positionM",
  );
  t.equal(alignment?.observed, 2e-6);
  near(t, alignment?.ratio ?? undefined, 2e-6 / (alignment?.predicted ?? NaN));
  t.equal(budget.find(({ error }) => error === "angleRad")?.ratio, null, "nothing was observed");
});
