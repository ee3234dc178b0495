/** surgiclaw calibrate camera | all | stage | handeye | needle | registration | verify | diff | report */
import type { Command } from "commander";
import { addAll } from "./calibrate/all.js";
import { addCamera } from "./calibrate/camera.js";
import { addDiff } from "./calibrate/diff.js";
import { addHandEye } from "./calibrate/handeye.js";
import { addNeedle } from "./calibrate/needle.js";
import { addRegistration } from "./calibrate/registration.js";
import { addReport } from "./calibrate/report.js";
import { addStage } from "./calibrate/stage.js";
import { addVerify } from "./calibrate/verify.js";

export function addCalibrate(program: Command): void {
  const calibrate = program.command("calibrate").description("measure the geometry of a cell, and compare");
  addAll(calibrate);
  addCamera(calibrate);
  addStage(calibrate);
  addHandEye(calibrate);
  addNeedle(calibrate);
  addRegistration(calibrate);
  addVerify(calibrate);
  addDiff(calibrate);
  addReport(calibrate);
}
