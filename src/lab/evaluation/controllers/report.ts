/** Trials of the controllers summed up, beside the published figures. Pure. */
import { spread, wilson, type Spread } from "../statistics.js";
import {
  controllerNames,
  errorNames,
  type ControllerName,
  type ControllerOutcome,
  type ErrorName,
  type Trial,
} from "./controller-trial.js";
import type { ErrorBudget } from "./error-budget.js";

export interface ControllerReport {
  readonly name: ControllerName;
  readonly trials: number;
  readonly success: number;
  /** 95 %. */
  readonly wilson: readonly [number, number];
  /** Over the successful trials, as published. */
  readonly errors: Partial<Record<ErrorName, Spread>>;
  /** Mean over the successful trials, s. */
  readonly timeS: number | null;
  /** Mean over the successful trials, of the view that was looked at most. */
  readonly frames: number | null;
  readonly failures: Readonly<Record<string, number>>;
}

/** A budget beside what trials showed. */
export interface BudgetLine extends ErrorBudget {
  /** Mean over the successful trials; null without one. */
  readonly observed: number | null;
  /** Observed by predicted. */
  readonly ratio: number | null;
}

export interface ControllersReport {
  readonly seed: number;
  readonly controllers: readonly ControllerReport[];
  readonly budget: readonly BudgetLine[];
}

/**
 * What SurgiCLAW reports of its controllers, 40 trials each (skill-agent.md 9.4): mean and SD over successful trials.
 * Success is given for all together, 36 to 40 of 40.
 */
export const publishedErrors: Partial<
  Record<ControllerName, Partial<Record<ErrorName, Omit<Spread, "max">>>>
> = {
  registration: { treM: { mean: 0.347e-3, sd: 0.126e-3 } },
  alignment: { angleRad: { mean: (0.91 * Math.PI) / 180, sd: (0.42 * Math.PI) / 180 } },
  insertion: { positionM: { mean: 15e-6, sd: 6e-6 } },
};
export const publishedSuccess = { of: 40, least: 36, most: 40 } as const;

export function reportControllers(
  seed: number,
  trials: readonly Trial[],
  budgets: readonly ErrorBudget[],
): ControllersReport {
  const controllers = controllerNames.map((name) => reportOne(name, outcomesOf(name, trials)));
  const budget = budgets.map((one): BudgetLine => {
    const observed = controllers.find(({ name }) => name === one.controller)?.errors[one.error]?.mean ?? null;
    return { ...one, observed, ratio: observed === null ? null : observed / one.predicted };
  });
  return { seed, controllers, budget };
}

const outcomesOf = (name: ControllerName, trials: readonly Trial[]): ControllerOutcome[] =>
  trials.flatMap(({ outcomes }) => {
    const outcome = outcomes[name];
    return outcome === undefined ? [] : [outcome];
  });

const present = (values: readonly (number | null | undefined)[]): number[] =>
  values.filter((value): value is number => typeof value === "number");

function reportOne(name: ControllerName, outcomes: readonly ControllerOutcome[]): ControllerReport {
  const good = outcomes.filter(({ success }) => success);
  const errors: Partial<Record<ErrorName, Spread>> = {};
  for (const error of errorNames) {
    const found = spread(present(good.map((outcome) => outcome.errors[error])));
    if (found !== undefined) errors[error] = found;
  }
  const failures: Record<string, number> = {};
  for (const { failure } of outcomes) if (failure !== null) failures[failure] = (failures[failure] ?? 0) + 1;
  return {
    name,
    trials: outcomes.length,
    success: good.length,
    wilson: wilson(good.length, outcomes.length).interval ?? [0, 1],
    errors,
    timeS: spread(present(good.map(({ timeS }) => timeS)))?.mean ?? null,
    frames: spread(present(good.map(({ frames }) => frames)))?.mean ?? null,
    failures,
  };
}
