/** Which devices, skills and loop make up the cell of this daemon. */
import { CellError } from "../../base/errors.js";
import type { CellFactory } from "./cell.js";

export const createCell: CellFactory = ({ loaded }) => {
  throw new CellError("DEVICE_MISSING", `no device family is composed for cell ${loaded.config.cell.id}`);
};
