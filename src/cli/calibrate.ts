/** surgiclaw calibrate stage | verify | diff */
import type { Command } from "commander";
import { addDiff } from "./calibrate/diff.js";
import { addStage } from "./calibrate/stage.js";
import { addVerify } from "./calibrate/verify.js";

export function addCalibrate(program: Command): void {
  const calibrate = program.command("calibrate").description("measure the geometry of a cell, and compare");
  addStage(calibrate);
  addVerify(calibrate);
  addDiff(calibrate);
}
