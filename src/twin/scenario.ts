/**
 * A scenario: how far the true cell lies from its drawing, how a run begins, and what goes wrong on the way. The seed
 * draws a cell from these ranges. The defaults are the floors of the design; a scenario may be harder.
 */
import path from "node:path";
import { z } from "zod";
import { asCellError, CellError } from "../base/errors.js";
import { projectRoot } from "../base/paths.js";
import { loadYaml } from "../base/yaml-file.js";

/** [least, most] of a magnitude. */
const pair = z.tuple([z.number(), z.number()]);
const range = (low: number, high: number): z.ZodDefault<typeof pair> => pair.default([low, high]);

const imperfections = z.strictObject({
  /** Residual joint errors give a flange error of this size at the known pose. */
  armResidualM: range(0.0002, 0.0005),
  /** 3 sigma per axis, drawn at each arrival of the arm. */
  armRepeatabilityM: z.number().min(0.0001).default(0.0001),
  handEyeTranslationM: range(0.001, 0.003),
  handEyeRotationRad: range(0.00873, 0.0349),
  magnification: z.number().min(0.02).default(0.02),
  microscopeAxesRad: z.number().min(0.01745).default(0.01745),
  microscopeCentreM: z.number().default(0.00015),
  /** The focus stage runs along the optical axis but for this angle. */
  focusAxisRad: range(0.002, 0.006),
  /** The slide of the needle drive against the needle's own axis. */
  slideRad: range(0.003, 0.008),
  cartridgeM: range(0.00005, 0.00015),
  cartridgeRad: range(0.003, 0.012),
  lightDrift: z.number().min(0.1).default(0.1),
  breathingHz: range(1, 1.5),
  breathingM: range(0.00002, 0.00006),
  pulseHz: range(5, 7),
  pulseM: range(0.000003, 0.00001),
});

const start = z.strictObject({
  /** Exposure off by up to this many stops (powers of two); always at least half of it in hard scenarios. */
  exposureStops: z.tuple([z.number(), z.number()]).default([0, 4]),
  focusM: range(0.0001, 0.0005),
  needleAngleRad: range(0.0524, 0.1745),
  needleOffsetM: range(0.0002, 0.0008),
  /** The arm begins here instead of at the known pose. */
  armRad: z.array(z.number()).length(6).optional(),
  homed: z.boolean().default(true),
  armPowered: z.boolean().default(false),
});

const faultSchema = z.strictObject({
  /** Seconds after the twin is ready, or after the n-th electrode was hooked. */
  atS: z.number().optional(),
  afterHooked: z.number().int().optional(),
  afterInserted: z.number().int().optional(),
  /** So long after that moment. */
  delayS: z.number().min(0).default(0),
  /** One of `surgiclaw twin faults`. */
  fault: z.string(),
  /** The fault's value: 1 or 2 for cameras; arm, stages for links; a number, on, off for others. */
  target: z.union([z.number(), z.string()]).optional(),
});

export type Fault = z.infer<typeof faultSchema>;
/** A fault as switched by hand: at once. */
export type FaultNow = Pick<Fault, "fault" | "target">;

export const scenarioSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  imperfections: imperfections.prefault({}),
  start: start.prefault({}),
  optics: z.enum(["gaussian", "disc"]).default("gaussian"),
  frameRate: z.number().min(1).max(60).default(20),
  /** Axis speeds of the stages may be raised above the real ones; time is never scaled. */
  stageSpeedFactor: z.number().min(1).max(10).default(1),
  vessels: z.number().int().min(1).default(9),
  faults: z.array(faultSchema).default([]),
});

export type Scenario = z.infer<typeof scenarioSchema>;

/** Reads a scenario by name (a file that ships) or by path. @throws CellError CONFIG_UNREADABLE, CONFIG_INVALID */
export async function readScenario(nameOrPath: string): Promise<Scenario> {
  const shipped = path.join(projectRoot, "src", "twin", "scenarios", `${nameOrPath}.yaml`);
  const file = /[/.]/.test(nameOrPath) ? nameOrPath : shipped;
  try {
    return (
      await loadYaml(file, scenarioSchema, { unreadable: "CONFIG_UNREADABLE", invalid: "CONFIG_INVALID" })
    ).value;
  } catch (error) {
    const known = asCellError(error);
    if (known.code !== "CONFIG_UNREADABLE") throw known;
    throw new CellError("CONFIG_UNREADABLE", `there is no scenario ${nameOrPath}`, {
      cause: error,
      remedy: "name one of src/twin/scenarios (default, hard, needle-broken) or the path of a file",
    });
  }
}
