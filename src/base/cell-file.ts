/** The cell file: frames, microscopes, needle, cartridge and known pose of one cell, as drawn. */
import { z } from "zod";
import { frameSchema } from "./frame-tree.js";
import { loadYaml } from "./yaml-file.js";

const vec3 = z.tuple([z.number(), z.number(), z.number()]);
const length = z.number().positive().max(1);

export const microscopeSchema = z.strictObject({
  name: z.string().min(1),
  azimuthRad: z.number(),
  elevationRad: z.number(),
  centreM: vec3,
  metresPerPixel: z.number().positive(),
  widthPx: z.number().int().positive(),
  heightPx: z.number().int().positive(),
  depthOfFieldM: length,
  focusAxis: z.number().int().min(1).max(32),
});

export const cellFileSchema = z.strictObject({
  id: z.string().min(1),
  frames: z.array(frameSchema).min(1),
  microscopes: z.tuple([microscopeSchema, microscopeSchema]),
  needle: z.strictObject({
    shankDiameterM: length,
    tipDiameterM: length,
    taperM: length,
    /** The tip's end is round with this radius. */
    tipRadiusM: length,
    hookHeightM: length,
    hookReachM: length,
    hookThicknessM: length,
  }),
  cartridge: z.strictObject({
    firstLoopM: vec3,
    pitchM: vec3,
    loops: z.number().int().min(1),
    ringInnerM: z.strictObject({ y: length, z: length }),
    wireM: length,
    ribbonWidthM: length,
    ribbonLengthM: length,
  }),
  /** Which stage (profile) hangs on which axis of the controller. */
  stages: z.array(
    z.strictObject({
      axis: z.number().int().min(1).max(32),
      profile: z.string().min(1),
      part: z.enum(["upper", "lower"]).optional(),
    }),
  ),
  stageAxes: z.strictObject({
    x: z.number().int(),
    y: z.number().int(),
    z: z.number().int(),
    tiltX: z.number().int(),
    tiltY: z.number().int(),
    focus1: z.number().int(),
    focus2: z.number().int(),
  }),
  knownPoseRad: z.tuple([z.number(), z.number(), z.number(), z.number(), z.number(), z.number()]),
  armBoxM: z.strictObject({ min: vec3, max: vec3 }),
});

export type CellFile = z.infer<typeof cellFileSchema>;
export type MicroscopeDrawing = z.infer<typeof microscopeSchema>;

/** @throws CellError CONFIG_UNREADABLE or CONFIG_INVALID naming file, line and key. */
export async function readCellFile(file: string): Promise<CellFile> {
  const codes = { unreadable: "CONFIG_UNREADABLE", invalid: "CONFIG_INVALID" } as const;
  return (await loadYaml(file, cellFileSchema, codes)).value;
}
