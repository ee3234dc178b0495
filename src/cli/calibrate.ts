/** surgiclaw calibrate stage | handeye | registration | verify | diff */
import type { Command } from "commander";
import { addDiff } from "./calibrate/diff.js";
import { addHandEye } from "./calibrate/handeye.js";
import { addRegistration } from "./calibrate/registration.js";
import { addStage } from "./calibrate/stage.js";
import { addVerify } from "./calibrate/verify.js";

export function addCalibrate(program: Command): void {
  const calibrate = program.command("calibrate").description("measure the geometry of a cell, and compare");
  addStage(calibrate);
  addHandEye(calibrate);
  addRegistration(calibrate);
  addVerify(calibrate);
  addDiff(calibrate);
}
