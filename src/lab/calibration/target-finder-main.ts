#!/usr/bin/env node
/**
 * Finds targets in the pictures that its parent sends: a process of its own, so that a library which was not made for it
 * never shares a process with what moves the cell.
 */
import { createRequire } from "node:module";
import type { FindReply, FindRequest } from "./target-finder.js";
import { findTarget, type OpenCv } from "./target-pattern.js";

const [file] = process.argv.slice(2);
if (file === undefined || process.send === undefined) {
  process.stderr.write("target-finder-main: is started by the calibrations\n");
  process.exit(2);
}
const cv = createRequire(import.meta.url)(file) as OpenCv;

const answer = (reply: FindReply): void => {
  process.send?.(reply);
};

process.on("disconnect", () => process.exit(0));
process.on("message", ({ id, picture, columns, rows }: FindRequest) => {
  try {
    answer({ id, target: findTarget(cv, picture, columns, rows) });
  } catch (error) {
    answer({ id, failure: error instanceof Error ? error.message : String(error) });
  }
});
answer({ id: 0 });
