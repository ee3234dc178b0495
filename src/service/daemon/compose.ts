/** Which devices, skills and loop make up the cell of this daemon. */
import type { CellFactory } from "./cell.js";
import { RobotCell } from "./robot-cell.js";

export const createCell: CellFactory = (context) => new RobotCell(context);
