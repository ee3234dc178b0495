/**
 * The daemon's fixed-rate thread in a process whose JavaScript makes garbage all the time: the native heart, at the period
 * given. Prints how late it woke.
 *   node heart-process.js PERIOD_S DURATION_S
 */
import { closeSync, openSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { monotonicNow } from "../../../src/base/clock.js";
import { cellAddon } from "../../../src/cell/native.js";
import { makeGarbage } from "./garbage.js";

const [, , periodS, durationS] = process.argv.map(Number);
const sink = openSync("/dev/null", "w");
const heart = new (cellAddon().Heart)();
heart.start({ fd: sink, periodS: periodS ?? NaN, limitS: 60 });
const untilS = monotonicNow() + (durationS ?? NaN);
while (monotonicNow() < untilS) {
  makeGarbage();
  heart.touch();
  await turn();
}
process.stdout.write(`${JSON.stringify(heart.status())}\n`);
heart.stop();
closeSync(sink);
