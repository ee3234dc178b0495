/**
 * Recorded kinematics as tables of text, one row a frame. Two layouts:
 *
 *   dvrk      a header row, then 16 columns separated by tabs whatever the file's extension says: for PSM1 and PSM2
 *             position x, y, z, quaternion x, y, z, w, gripper angle
 *   jigsaws   no header, 76 columns separated by blanks: four arms of 19, the two of the patient's side last; each
 *             position (3), rotation (9), velocities (6), gripper angle
 */
import { CellError } from "../../../base/errors.js";

export interface TableLayout {
  readonly columns: number;
  readonly header: boolean;
  /** First column of a patient-side arm's position, and its gripper's. */
  readonly arms: readonly { readonly position: number; readonly gripper: number }[];
}

export const layouts = {
  dvrk: {
    columns: 16,
    header: true,
    arms: [
      { position: 0, gripper: 7 },
      { position: 8, gripper: 15 },
    ],
  },
  jigsaws: {
    columns: 76,
    header: false,
    arms: [
      { position: 38, gripper: 56 },
      { position: 57, gripper: 75 },
    ],
  },
} as const satisfies Record<string, TableLayout>;

export type LayoutName = keyof typeof layouts;

/** Rows of numbers. @throws CellError PHASE_FILE_INVALID naming the line */
export function parseTable(file: string, text: string, layout: TableLayout): number[][] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const rows: number[][] = [];
  lines.forEach((line, index) => {
    if (line === "" || (layout.header && index === 0)) return;
    // A number of blanks or tabs; "Number" would take an empty cell for zero.
    const row = line.split(/[\t ]+/).map((cell) => (cell === "" ? Number.NaN : Number(cell)));
    if (row.length !== layout.columns || !row.every(Number.isFinite)) {
      throw new CellError(
        "PHASE_FILE_INVALID",
        `${file}:${index + 1}: expected ${layout.columns} numbers: ${line.slice(0, 80)}`,
      );
    }
    rows.push(row);
  });
  if (rows.length < 2) throw new CellError("PHASE_FILE_INVALID", `${file}: holds fewer than two rows`);
  return rows;
}

/** What the arms did from one row to the next: change of position and the gripper angle they went to. */
export const actionBetween = (
  from: readonly number[],
  to: readonly number[],
  layout: TableLayout,
): number[] =>
  layout.arms.flatMap(({ position, gripper }) => [
    ...[0, 1, 2].map((axis) => (to[position + axis] ?? 0) - (from[position + axis] ?? 0)),
    to[gripper] ?? 0,
  ]);
