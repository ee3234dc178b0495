/** The report of the controllers as a table for people. */
import type { ErrorName } from "../../lab/evaluation/controllers/controller-trial.js";
import { budgetSources } from "../../lab/evaluation/controllers/error-budget.js";
import {
  publishedErrors,
  publishedSuccess,
  type BudgetLine,
  type ControllerReport,
  type ControllersReport,
} from "../../lab/evaluation/controllers/report.js";
import type { Spread } from "../../lab/evaluation/statistics.js";
import { table } from "./output.js";

const units: Record<ErrorName, { readonly scale: number; readonly unit: string; readonly digits: number }> = {
  positionM: { scale: 1e6, unit: "um", digits: 1 },
  angleRad: { scale: 180 / Math.PI, unit: "deg", digits: 2 },
  treM: { scale: 1e6, unit: "um TRE", digits: 0 },
};

function errorText(
  name: ErrorName,
  { mean, sd, max }: Omit<Spread, "max"> & { readonly max?: number },
): string {
  const { scale, unit, digits } = units[name];
  const [m, s] = [mean, sd].map((value) => (value * scale).toFixed(digits));
  const most = max === undefined ? "" : ` (max ${(max * scale).toFixed(digits)})`;
  return `${m} ± ${s}${most} ${unit}`;
}

const errorsText = (errors: Partial<Record<ErrorName, Omit<Spread, "max">>> | undefined): string =>
  Object.entries(errors ?? {})
    .map(([name, spread]) => errorText(name as ErrorName, spread))
    .join(", ");

const number = (value: number | null): string => (value === null ? "-" : value.toFixed(1));

function row(one: ControllerReport): string[] {
  const [low, high] = one.wilson.map((share) => (share * 100).toFixed(1));
  return [
    one.name,
    `${one.success}/${one.trials}`,
    `${low}-${high} %`,
    errorsText(one.errors) || "-",
    errorsText(publishedErrors[one.name]) || "-",
    number(one.timeS),
    number(one.frames),
  ];
}

/** σ of the terms of each source together, and what they make of the mean error, beside what was seen. */
function budgetRow(line: BudgetLine): string[] {
  const { scale, unit, digits } = units[line.error];
  const told = (value: number | null): string =>
    value === null ? "-" : (value * scale).toFixed(Math.max(digits, 2));
  const bySource = budgetSources.map((source) => {
    const terms = line.terms.filter((term) => term.source === source);
    return terms.length === 0 ? "" : told(Math.hypot(...terms.map(({ sigma }) => sigma)));
  });
  return [
    `${line.controller}, ${unit}`,
    ...bySource,
    told(line.predicted),
    told(line.observed),
    line.ratio === null ? "-" : line.ratio.toFixed(2),
  ];
}

const budgetHead = ["error budget", ...budgetSources, "predicted mean", "observed mean", "ratio"];

export function controllersTable(report: ControllersReport): string[] {
  const head = ["controller", "success", "95 % interval", "error (mean ± SD)", "published error", "s"];
  const failures = report.controllers.flatMap(({ name, failures: reasons }) =>
    Object.entries(reasons).map(([reason, count]) => `  ${name}: ${count} × ${reason}`),
  );
  return [
    table([...head, "frames"], report.controllers.map(row)),
    `published success: ${publishedSuccess.least} to ${publishedSuccess.most} of ${publishedSuccess.of}`,
    ...(failures.length > 0 ? ["failures", ...failures] : []),
    "",
    table(budgetHead, report.budget.map(budgetRow)),
    "standard deviations per axis by source; each term and its formula: docs/evaluation.md, and --json",
  ];
}
