import t from "tap";
import {
  controllerNames,
  type ControllerName,
  type ControllerOutcome,
  type Trial,
} from "../../../../src/lab/evaluation/controllers/controller-trial.js";
import { reportControllers } from "../../../../src/lab/evaluation/controllers/report.js";

const good = (positionM: number, frames: number): ControllerOutcome => ({
  success: true,
  errors: { positionM },
  timeS: frames / 10,
  frames,
  failure: null,
});
const bad: ControllerOutcome = {
  success: false,
  errors: { positionM: 1 },
  timeS: 99,
  frames: 99,
  failure: "too far",
};

const trial = (number: number, focus: ControllerOutcome): Trial => ({
  trial: number,
  cellSeed: 1,
  disturbance: { exposureStops: [1, -1], focusM: [1e-4, -1e-4] },
  outcomes: Object.fromEntries(controllerNames.map((name) => [name, focus])) as Record<
    ControllerName,
    ControllerOutcome
  >,
});

t.test(
  "errors, time and frames are told of successful trials alone; failures are counted by reason",
  async (t) => {
    const report = reportControllers(
      5,
      [trial(1, good(2e-6, 6)), trial(2, bad), trial(3, good(4e-6, 8)), trial(4, bad)],
      [],
    );
    t.equal(report.seed, 5);
    t.same(
      report.controllers.map(({ name }) => name),
      [...controllerNames],
    );
    const focus = report.controllers.find(({ name }) => name === "focus");
    t.match(focus, { trials: 4, success: 2, timeS: 0.7, frames: 7, failures: { "too far": 2 } });
    const { mean = NaN, sd = NaN, max = NaN } = focus?.errors.positionM ?? {};
    t.ok(Math.abs(mean - 3e-6) < 1e-15 && Math.abs(sd - Math.SQRT2 * 1e-6) < 1e-15 && max === 4e-6);
    // Wilson's interval of 2 of 4, worked from its formula: 0.5 ± 0.3496.
    const [low = NaN, high = NaN] = focus?.wilson ?? [];
    t.ok(Math.abs(low - 0.15004) < 1e-4 && Math.abs(high - 0.84996) < 1e-4, `${low}, ${high}`);
  },
);
