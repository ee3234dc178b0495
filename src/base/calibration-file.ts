/** A calibration: measured geometry of one cell, with date, method and residuals. The one that ships is the drawing. */
import { z } from "zod";
import { CellError } from "./errors.js";
import { rotationFromVector, type Transform } from "./transform.js";
import { loadYaml } from "./yaml-file.js";

const vec3 = z.tuple([z.number(), z.number(), z.number()]);

export const calibrationSchema = z.strictObject({
  version: z.literal(1),
  cell: z.string().min(1),
  method: z.enum(["drawing", "measured"]),
  createdAt: z.iso.datetime(),
  edges: z.array(z.strictObject({ frame: z.string().min(1), translationM: vec3, rotationVectorRad: vec3 })),
  /** Named residuals of the measurements, SI. */
  residuals: z.record(z.string(), z.number()),
});

export type Calibration = z.output<typeof calibrationSchema>;

/** @throws CellError CALIBRATION_INVALID naming file and key, CALIBRATION_FOREIGN when it belongs to another cell */
export async function loadCalibration(file: string, cell: string): Promise<Calibration> {
  const { value } = await loadYaml(file, calibrationSchema, {
    unreadable: "CALIBRATION_INVALID",
    invalid: "CALIBRATION_INVALID",
  });
  if (value.cell !== cell)
    throw new CellError(
      "CALIBRATION_FOREIGN",
      `${file}: expected a calibration of cell ${cell}, found one of ${value.cell}`,
    );
  return value;
}

/** The replaced edges, by frame. */
export const calibratedEdges = (calibration: Calibration): ReadonlyMap<string, Transform> =>
  new Map(
    calibration.edges.map(({ frame, translationM, rotationVectorRad }) => [
      frame,
      { rotation: rotationFromVector(rotationVectorRad), translation: translationM },
    ]),
  );
