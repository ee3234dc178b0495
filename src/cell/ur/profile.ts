/** Profile of a UR controller: model, software, geometry and limits, as shipped in `firmware-profiles/`. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { CellError } from "../../base/errors.js";
import type { DhParameters, JointLimits } from "./kinematics.js";

const positive = z.number().positive();

export const urProfileSchema = z.strictObject({
  kind: z.literal("ur-controller"),
  model: z.enum(["UR3", "UR5", "UR10", "UR3e", "UR5e", "UR10e", "UR16e"]),
  series: z.enum(["CB3", "e-Series"]),
  software: z.strictObject({
    major: z.int(),
    minor: z.int(),
    bugfix: z.int(),
    build: z.int(),
    date: z.string(),
  }),
  /** Seconds of one control step. */
  controlStepS: positive,
  rtde: z.strictObject({
    /** Versions to offer, in this order. */
    versions: z.array(z.union([z.literal(1), z.literal(2)])).min(1),
    maximumHz: positive,
    /** Output fields that this firmware answers with NOT_FOUND. */
    missingOutputs: z.array(z.string()),
  }),
  /** Standard Denavit–Hartenberg, metres. */
  geometry: z.strictObject({
    d1: z.number(),
    a2: z.number(),
    a3: z.number(),
    d4: z.number(),
    d5: z.number(),
    d6: z.number(),
  }),
  limits: z.strictObject({
    jointPositionRad: positive,
    elbowPositionRad: positive,
    jointSpeedRadS: positive,
    jointAccelerationRadS2: positive,
    toolSpeedMS: positive,
    toolAccelerationMS2: positive,
  }),
  protectiveStopWaitS: positive,
});

export type UrProfile = z.infer<typeof urProfileSchema>;

/** @throws CellError CONFIG_UNREADABLE, PROFILE_INVALID */
export function readUrProfile(file: string): UrProfile {
  let document: unknown;
  try {
    document = parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new CellError("CONFIG_UNREADABLE", file, { cause: error });
  }
  const result = urProfileSchema.safeParse(document);
  if (!result.success) throw new CellError("PROFILE_INVALID", `${file}: ${z.prettifyError(result.error)}`);
  return result.data;
}

export const geometryOf = (profile: UrProfile): DhParameters => profile.geometry;

export function jointLimitsOf(profile: UrProfile): JointLimits {
  const { jointPositionRad: all, elbowPositionRad: elbow } = profile.limits;
  return { lower: [-all, -all, -elbow, -all, -all, -all], upper: [all, all, elbow, all, all, all] };
}
