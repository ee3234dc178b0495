/** All functions that programs may call, and the names of constants. */
import type { BuiltinTable } from "./builtin.js";
import { forceFunctions } from "./force-functions.js";
import { ioFunctions } from "./io-functions.js";
import { mathFunctions } from "./math-functions.js";
import { motionFunctions } from "./motion-functions.js";
import { programFunctions } from "./program-functions.js";
import type { RobotServices } from "./services.js";

export const builtinFunctions = (robot: RobotServices): BuiltinTable =>
  new Map([
    ...mathFunctions(),
    ...motionFunctions(robot),
    ...forceFunctions(robot),
    ...ioFunctions(robot),
    ...programFunctions(robot),
  ]);
