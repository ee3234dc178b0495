/**
 * The procedure file: what to implant where, on whose query, and what counts as finished. Made by
 * `surgiclaw procedure plan`, read by a person before it runs; unknown keys are errors.
 */
import { z } from "zod";
import { key } from "../../base/schema-keys.js";

const name = z.string().min(1).max(64);
const pixel = z.number().min(0).max(16384);

/** Grey levels around a picked pixel, so that the site is found again when the view has moved. */
const patch = z
  .strictObject({
    width: key(z.int().min(8).max(512), "columns", { unit: "px" }),
    height: key(z.int().min(8).max(512), "rows", { unit: "px" }),
    pixels: key(z.base64(), "Mono8 grey levels, row-major, base64"),
  })
  .refine((value) => Buffer.from(value.pixels, "base64").length === value.width * value.height, {
    path: ["pixels"],
    error: "holds another number of grey levels than width times height",
  });

/** A direction in an image; the planned insertion line is drawn in both views, so that errors of the drawing cancel. */
const imageDirection = z
  .tuple([z.number().min(-1).max(1), z.number().min(-1).max(1)])
  .refine((axis) => Math.abs(Math.hypot(...axis) - 1) < 1e-6, {
    error: "the direction must have length 1",
  });

const pick = z.strictObject({
  view: key(name, "name of the microscope"),
  x: key(pixel, "column of the site, from the left", { unit: "px" }),
  y: key(pixel, "row of the site, from the top", { unit: "px" }),
  axis: key(
    imageDirection,
    "planned direction of insertion as seen in this view (x right, y down), length 1",
  ),
  takenAtS: key(z.number(), "monotonic time of the frame it was picked on", { unit: "s" }),
  patch,
});

const target = z.strictObject({
  id: key(name, "name of the target, unique in the file"),
  electrode: key(z.int().min(1).max(64), "place of its electrode in the cartridge, from 1"),
  picks: key(z.array(pick).length(2), "the site in view 1 and its match in view 2"),
  insertionDepthM: key(
    z.number().min(0).max(5e-3).optional(),
    "depth below the surface; default from the cell",
    {
      unit: "m",
    },
  ),
  vesselDistanceM: key(z.number().min(0).optional(), "distance to the nearest vessel when it was picked", {
    unit: "m",
  }),
});

const snapshotFrame = z.strictObject({
  view: key(name, "name of the microscope"),
  width: key(z.int().min(1).max(16384), "columns", { unit: "px" }),
  height: key(z.int().min(1).max(16384), "rows", { unit: "px" }),
  sha256: key(z.string().regex(/^[0-9a-f]{64}$/), "SHA-256 of the frame's grey levels"),
});

export const procedureSchema = z.strictObject({
  version: key(z.literal(1), "version of this file's format"),
  id: key(name, "name of the procedure"),
  createdAt: key(z.iso.datetime(), "wall time of planning, for display"),
  cell: key(name, "the cell it was planned on"),
  query: key(
    z.string().max(2000).default(""),
    "what the operator asks for; the start command may replace it",
  ),
  snapshot: z.strictObject({
    frames: key(z.array(snapshotFrame).length(2), "the frames the targets were picked on"),
  }),
  targets: key(
    z
      .array(target)
      .min(1)
      .max(64)
      .superRefine((list, context) => {
        list.forEach((entry, index) => {
          const earlier = list.slice(0, index);
          if (earlier.some((other) => other.id === entry.id)) {
            context.addIssue({ code: "custom", path: [index, "id"], message: `"${entry.id}" is used twice` });
          }
          if (earlier.some((other) => other.electrode === entry.electrode)) {
            context.addIssue({
              code: "custom",
              path: [index, "electrode"],
              message: `electrode ${entry.electrode} is used twice`,
            });
          }
        });
      }),
    "the sites, in the order of implantation",
  ),
  terminal: z
    .strictObject({
      allTargetsImplanted: key(z.literal(true).default(true), "finished only when every target is implanted"),
      needleRetracted: key(z.literal(true).default(true), "and the needle is out of tissue and withdrawn"),
    })
    .prefault({}),
});

export type Procedure = z.output<typeof procedureSchema>;
export type ProcedureTarget = Procedure["targets"][number];
export type TargetPick = ProcedureTarget["picks"][number];
