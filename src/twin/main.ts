#!/usr/bin/env node
/** The simulated cell as a process: `node dist/src/twin/main.js --folder DIR --seed 7`. Ends when its parent does. */
import path from "node:path";
import { parseArgs } from "node:util";
import { readCellFile } from "../base/cell-file.js";
import { asCellError } from "../base/errors.js";
import { projectRoot } from "../base/paths.js";
import { readTargetFile } from "../base/target-file.js";
import { placeSchema } from "./place.js";
import { readScenario } from "./scenario.js";
import { Twin } from "./twin.js";

const usage = `surgiclaw twin: the simulated cell, on the devices' real protocols

  --folder DIR      where its files and sockets lie (default runs/twin)
  --scenario NAME   a file of src/twin/scenarios, or a path (default: default)
  --seed N          draws the cell (default 7)
  --cell FILE       the cell's drawing (default calibration/reference-cell.yaml)
  --target FILE     the calibration target that can be mounted (default calibration/target-chessboard.yaml)
  --place JSON      other addresses and ports, as in docs/twin.md
  --stay            keep running when standard input closes
`;

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: path.join(projectRoot, "runs", "twin") },
    scenario: { type: "string", default: "default" },
    seed: { type: "string", default: "7" },
    cell: { type: "string", default: path.join(projectRoot, "calibration", "reference-cell.yaml") },
    target: {
      type: "string",
      default: path.join(projectRoot, "calibration", "target-chessboard.yaml"),
    },
    place: { type: "string", default: "{}" },
    stay: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}

try {
  const place = placeSchema.parse({ ...(JSON.parse(values.place) as object), folder: values.folder });
  const seed = Number(values.seed);
  if (!Number.isInteger(seed)) throw new RangeError(`--seed ${values.seed} is no whole number`);
  const twin = new Twin(
    await readCellFile(values.cell),
    await readTargetFile(values.target),
    await readScenario(values.scenario),
    seed,
    place,
  );
  const end = (): void => {
    void twin.stop().finally(() => process.exit(0));
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
  if (!values.stay) process.stdin.resume().on("end", end);
  await twin.start();
  process.stdout.write(
    `${JSON.stringify({ ready: true, seed, scenario: values.scenario, folder: place.folder })}\n`,
  );
} catch (error) {
  const known = asCellError(error);
  process.stderr.write(`twin: ${known.message}\n  ${known.remedy}\n`);
  process.exit(1);
}
