/**
 * From the driver's stop to standstill, as the emulated device itself stands: each device is set in motion and stopped in the
 * middle of it. What the device needs to come to rest is its own; the emulators keep the decelerations of the documents.
 */
import { setTimeout as delay } from "node:timers/promises";
import { monotonicNow } from "../../../src/base/clock.js";
import { activeRig } from "../../cell/kohzu/rig.js";
import { rig as needleRig } from "../../cell/needle/rig.js";
import { rig as armRig, soon, startQ } from "../../cell/ur/rig.js";

/** Seconds from `stop` until `position` no longer changes. @throws Error when it did not move before */
async function untilStanding(position: () => number, before: number, stop: () => void): Promise<number> {
  if (position() === before) throw new Error("nothing moved when it was stopped");
  const stoppedS = monotonicNow();
  stop();
  let [last, movedS] = [position(), stoppedS];
  while (monotonicNow() - movedS < 0.05 && monotonicNow() - stoppedS < 5) {
    const now = position();
    // Below a thousandth of a pulse, step or radian nothing moves.
    if (Math.abs(now - last) > 1e-9) [last, movedS] = [now, monotonicNow()];
    await new Promise(setImmediate);
  }
  return movedS - stoppedS;
}

const ignored = (): undefined => undefined;

async function stages(count: number): Promise<number[]> {
  const { driver, emulator, end } = await activeRig({ emulator: { speedFactor: 1 } });
  const times: number[] = [];
  for (let k = 0; k < count; k++) {
    const before = emulator.truePosition(1);
    const moving = driver.moveAbsolute(1, k % 2 === 0 ? 8000 : -8000).catch(ignored);
    await delay(250);
    times.push(
      await untilStanding(
        () => emulator.truePosition(1),
        before,
        () => void driver.stop(),
      ),
    );
    await moving;
  }
  await end();
  return times;
}

async function needle(count: number): Promise<number[]> {
  const { driver, emulator, end } = await needleRig("zaber-ascii");
  const times: number[] = [];
  for (let k = 0; k < count; k++) {
    const before = emulator.positionM();
    const pace = { speedMS: 0.02, accelerationMS2: 10 };
    const moving = driver.moveTo(k % 2 === 0 ? 5e-3 : 5e-4, pace).catch(ignored);
    await delay(60);
    times.push(
      await untilStanding(
        () => emulator.positionM(),
        before,
        () => driver.stop(),
      ),
    );
    await moving;
  }
  await end();
  return times;
}

async function arm(count: number): Promise<number[]> {
  const { controller, robot, close } = await armRig();
  await robot.connect(soon());
  const times: number[] = [];
  for (let k = 0; k < count; k++) {
    await robot.activate(soon());
    const joint = (): number => controller.jointPositions(monotonicNow())[0] ?? NaN;
    const before = joint();
    const goal = startQ.map((value, i) => value + (i === 0 && k % 2 === 0 ? 1.2 : 0));
    const moving = robot.moveJoints(goal, { speedRadS: 1.05, accelerationRadS2: 3 }, soon()).catch(ignored);
    await delay(500);
    times.push(await untilStanding(joint, before, () => robot.stop()));
    await moving;
  }
  await close();
  return times;
}

/** Seconds, one a stop, by device. */
export const standstills = async (count: number): Promise<Readonly<Record<string, readonly number[]>>> => ({
  "stages, 1 axis": await stages(count),
  "needle, 20 mm/s": await needle(count),
  "arm, 1.05 rad/s": await arm(count),
});
