/** One trial of each controller: what was done to the cell, and how each of them came out. */
import { z } from "zod";

/** In the order in which a procedure needs them. */
export const controllerNames = [
  "exposure",
  "focus",
  "registration",
  "localisation",
  "alignment",
  "pickup",
  "insertion",
  "stop",
] as const;
export type ControllerName = (typeof controllerNames)[number];

/** Errors that are told of a controller; metres and radians. */
export const errorNames = ["positionM", "angleRad", "treM"] as const;
export type ErrorName = (typeof errorNames)[number];

const finite = z.number();

export const controllerOutcomeSchema = z.strictObject({
  success: z.boolean(),
  /** Of the true cell, not as reported. */
  errors: z.partialRecord(z.enum(errorNames), finite),
  /** From the skill's start to its end; of `stop`, from the request to standstill. Null when it did not run. */
  timeS: finite.nullable(),
  /** Frames looked at, of the view that was looked at most; null where none are counted. */
  frames: finite.nullable(),
  /** Why it failed, a few words that group well; null on success. */
  failure: z.string().nullable(),
});
export type ControllerOutcome = z.output<typeof controllerOutcomeSchema>;

export const trialSchema = z.strictObject({
  trial: z.number().int(),
  /** The cell it was made on. */
  cellSeed: z.number().int(),
  /** What was done to the cell before it, by view. */
  disturbance: z.strictObject({
    exposureStops: z.tuple([finite, finite]),
    focusM: z.tuple([finite, finite]),
  }),
  outcomes: z.record(z.enum(controllerNames), controllerOutcomeSchema),
});
export type Trial = z.output<typeof trialSchema>;

/** What the judge needs besides the twin's truth. */
export const judgementRequestSchema = z.strictObject({
  trial: z.number().int(),
  cellSeed: z.number().int(),
  disturbance: trialSchema.shape.disturbance,
  /** Recording of the planning, in which exposure and focus are set; null when it did not begin. */
  planning: z.string().nullable(),
  /** Recording of the implantation. */
  procedure: z.string().nullable(),
  /** A stop in the middle of a motion: when it was asked for, and until when nothing was allowed to move; monotonic s. */
  stop: z.strictObject({ askedS: finite, untilS: finite }).nullable(),
  /** Why the trial ended early, for those controllers that were not reached. */
  ended: z.string().nullable(),
});
export type JudgementRequest = z.output<typeof judgementRequestSchema>;
