/** A calibration target as its certificate says: a flat plate with a chessboard. Data of its own, so that a lab names its own. */
import { z } from "zod";
import { loadYaml } from "./yaml-file.js";

export const targetFileSchema = z
  .strictObject({
    id: z.string().min(1),
    /** Crossings of lines inside the pattern, where four squares meet. */
    columns: z.int().min(3).max(60),
    rows: z.int().min(3).max(60),
    /** Between neighbouring lines, m, and the standard uncertainty that the certificate gives. */
    pitchM: z.number().min(1e-6).max(1e-2),
    pitchSigmaM: z.number().positive(),
  })
  .refine(({ columns, rows }) => (columns + rows) % 2 === 1, {
    path: ["rows"],
    error:
      "expected one odd and one even number of crossings: otherwise the pattern looks the same upside down",
  })
  .refine(({ columns, rows }) => columns > rows, {
    path: ["columns"],
    error: "expected more columns than rows: the long side tells the axes apart",
  });

export type TargetFile = z.output<typeof targetFileSchema>;

/** @throws CellError CONFIG_UNREADABLE or CONFIG_INVALID naming file, line and key. */
export async function readTargetFile(file: string): Promise<TargetFile> {
  const codes = { unreadable: "CONFIG_UNREADABLE", invalid: "CONFIG_INVALID" } as const;
  return (await loadYaml(file, targetFileSchema, codes)).value;
}
