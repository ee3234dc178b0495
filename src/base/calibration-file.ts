/**
 * A calibration file: the geometry of one cell. Either the drawing, of which nothing was measured, or a measured one: items
 * with values, covariance and held-out residuals, the devices they belong to, the day they expire, and a hash over it all.
 */
import { z } from "zod";
import { rotationFromVector, vectorFromRotation, type Transform } from "./transform.js";

const vec3 = z.tuple([z.number(), z.number(), z.number()]);
const name = z.string().min(1);

const edge = z.strictObject({ frame: name, translationM: vec3, rotationVectorRad: vec3 });

/** Symmetric, n × n, no negative variance, and no correlation above 1. */
function isCovariance(matrix: readonly (readonly number[])[], n: number): boolean {
  const at = (i: number, j: number): number => matrix[i]?.[j] ?? NaN;
  const close = (a: number, b: number): boolean =>
    Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
  if (matrix.length !== n || matrix.some((row) => row.length !== n)) return false;
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      if (!close(at(i, j), at(j, i)) || !(at(i, i) >= 0)) return false;
      if (at(i, j) ** 2 > at(i, i) * at(j, j) * (1 + 1e-6)) return false;
    }
  return true;
}

export const calibrationItemSchema = z
  .strictObject({
    /** Of every value. */
    unit: name.describe("unit of every value"),
    values: z.array(z.number()).min(1),
    at: z
      .strictObject({ unit: name, values: z.array(z.number()) })
      .optional()
      .describe("of a map: where each value was measured"),
    covariance: z.array(z.array(z.number())).describe("of the values, in the square of their unit"),
    residuals: z
      .strictObject({
        unit: name,
        rms: z.number().min(0),
        max: z.number().min(0),
        heldOut: z
          .int()
          .min(1)
          .describe("how many measurements were left out of the fit and compared with it"),
        points: z
          .array(z.strictObject({ at: z.array(z.number()).min(1), off: z.array(z.number()).min(1) }))
          .optional()
          .describe(
            "each of them, for a plot: where it was, in `pointUnit`, and how far off, in the unit of the residuals",
          ),
        pointUnit: name.optional(),
      })
      .refine(({ points, pointUnit }) => (points === undefined) === (pointUnit === undefined), {
        path: ["pointUnit"],
        error: "expected a unit where there are points, and only there",
      })
      .describe("of measurements that were left out of the fit"),
    measurements: z.int().min(1),
    method: name,
    measuredAt: z.iso.datetime(),
    expiresAt: z.iso.datetime(),
  })
  .refine(({ values, covariance }) => isCovariance(covariance, values.length), {
    path: ["covariance"],
    error: "expected a symmetric matrix with as many rows as there are values and no negative variance",
  })
  .refine(({ at, values }) => at === undefined || at.values.length === values.length, {
    path: ["at"],
    error: "expected as many positions as there are values",
  })
  .refine(({ measuredAt, expiresAt }) => Date.parse(measuredAt) < Date.parse(expiresAt), {
    path: ["expiresAt"],
    error: "expected a time after measuredAt",
  });

export type CalibrationItem = z.output<typeof calibrationItemSchema>;

const common = {
  version: z.literal(1),
  cell: name.describe("id of the cell it belongs to"),
  createdAt: z.iso.datetime(),
  /** Frames found elsewhere than drawn, parentFromFrame. */
  edges: z.array(edge).describe("frames found elsewhere than drawn, parentFromFrame"),
};

const drawingSchema = z.strictObject({ ...common, method: z.literal("drawing") });

const measuredSchema = z.strictObject({
  ...common,
  method: z.literal("measured"),
  devices: z
    .record(name, z.strictObject({ model: name, serial: name }))
    .describe("the devices it was measured with, by their name in the configuration"),
  items: z.record(name, calibrationItemSchema),
  hash: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/)
    .describe("SHA-256 over the canonical JSON (RFC 8785) of everything else"),
});

export const calibrationSchema = z.discriminatedUnion("method", [drawingSchema, measuredSchema]);

export type Calibration = z.output<typeof calibrationSchema>;
export type MeasuredCalibration = z.output<typeof measuredSchema>;

/** The measured items by name; of the drawing none. */
export const calibrationItems = (calibration: Calibration): Readonly<Record<string, CalibrationItem>> =>
  calibration.method === "measured" ? calibration.items : {};

/** The replaced edges, by frame. */
export const calibratedEdges = (calibration: Calibration): ReadonlyMap<string, Transform> =>
  new Map(
    calibration.edges.map(({ frame, translationM, rotationVectorRad }) => [
      frame,
      { rotation: rotationFromVector(rotationVectorRad), translation: translationM },
    ]),
  );

/** The edge of a calibration file for a frame that was found elsewhere than drawn. */
export const edgeOf = (frame: string, parentFromFrame: Transform): Calibration["edges"][number] => {
  const [x, y, z] = parentFromFrame.translation;
  const [a, b, c] = vectorFromRotation(parentFromFrame.rotation);
  return { frame, translationM: [x, y, z], rotationVectorRad: [a, b, c] };
};

/** Measured maps from robot coordinates to pixels by view: image right and image down, px/m. */
export const calibratedMaps = (
  calibration: Calibration,
): ReadonlyMap<string, readonly [readonly [number, number, number], readonly [number, number, number]]> =>
  new Map(
    Object.entries(calibrationItems(calibration)).flatMap(([item, { values }]) => {
      const view = /^(.+)\.map$/.exec(item)?.[1];
      const [a, b, c, d, e, f] = values;
      if (view === undefined || a === undefined || b === undefined || c === undefined) return [];
      if (d === undefined || e === undefined || f === undefined) return [];
      return [
        [
          view,
          [
            [a, b, c],
            [d, e, f],
          ],
        ] as const,
      ];
    }),
  );
