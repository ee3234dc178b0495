/** Where the files that ship with the project lie, from compiled code (dist/src/base) and from a checkout alike. */
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that holds package.json. */
export const projectRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");

/** A compiled native addon: `cell`, `twin`, `lab`. */
export const addonPath = (name: string): string => path.join(projectRoot, "build", "addons", `${name}.node`);

/** A native program built beside the addons: `guardian`, `camera-server`. */
export const programPath = (name: string): string => path.join(projectRoot, "build", "bin", name);
