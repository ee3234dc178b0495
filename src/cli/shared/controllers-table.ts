/** The report of the controllers as a table for people. */
import type { ErrorName } from "../../lab/evaluation/controllers/controller-trial.js";
import {
  publishedErrors,
  publishedSuccess,
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

export function controllersTable(report: ControllersReport): string[] {
  const head = ["controller", "success", "95 % interval", "error (mean ± SD)", "published error", "s"];
  const failures = report.controllers.flatMap(({ name, failures: reasons }) =>
    Object.entries(reasons).map(([reason, count]) => `  ${name}: ${count} × ${reason}`),
  );
  return [
    table([...head, "frames"], report.controllers.map(row)),
    `published success: ${publishedSuccess.least} to ${publishedSuccess.most} of ${publishedSuccess.of}`,
    ...(failures.length > 0 ? ["failures", ...failures] : []),
  ];
}
