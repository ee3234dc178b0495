import t from "tap";
import fc from "fast-check";
import { SlideMotion } from "../../../src/twin/needle/slide-motion.js";

t.test("from rest: ramp, cruise, ramp", async (t) => {
  // 1000 steps at 100/s with 200/s²: ramps of 0.5 s and 25 steps each, 950 steps of cruise in 9.5 s.
  const motion = SlideMotion.to(5, { position: 0, speed: 0 }, 1000, 100, 200);
  t.ok(Math.abs(motion.endS - 15.5) < 1e-9);
  t.ok(Math.abs(motion.at(5.5).position - 25) < 1e-9);
  t.ok(Math.abs(motion.at(10).speed - 100) < 1e-9);
  t.equal(motion.at(99).speed, 0);
  t.ok(Math.abs(motion.end - 1000) < 1e-9);
});

t.test("a short way never reaches the top speed", async (t) => {
  const motion = SlideMotion.to(0, { position: 0, speed: 0 }, -8, 100, 2);
  // v² = a d: peak 4 after 2 s, end after 4 s
  t.ok(Math.abs(motion.endS - 4) < 1e-9);
  t.ok(Math.abs(motion.at(2).speed + 4) < 1e-9);
});

t.test("from any state the slide comes to rest at the target, within speed and acceleration", async () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1000, max: 1000, noNaN: true }),
      fc.double({ min: -50, max: 50, noNaN: true }),
      fc.double({ min: -1000, max: 1000, noNaN: true }),
      fc.double({ min: 1, max: 100, noNaN: true }),
      fc.double({ min: 1, max: 500, noNaN: true }),
      (position, speed, target, top, acceleration) => {
        const motion = SlideMotion.to(0, { position, speed }, target, top, acceleration);
        if (Math.abs(motion.end - target) > 1e-6) return false;
        let last = motion.at(0);
        const dt = Math.max(motion.endS, 1e-9) / 200;
        for (let i = 1; i <= 200; i++) {
          const now = motion.at(i * dt);
          if (Math.abs(now.speed) > Math.max(top, Math.abs(speed)) + 1e-6) return false;
          if (Math.abs(now.speed - last.speed) > acceleration * dt * 1.0001 + 1e-6) return false;
          // Position is the integral of speed: exact for the trapezoid rule but at the corners.
          const error = now.position - last.position - ((now.speed + last.speed) / 2) * dt;
          if (Math.abs(error) > acceleration * dt * dt + 1e-6) return false;
          last = now;
        }
        return true;
      },
    ),
    { numRuns: 300 },
  );
});

t.test("the time of passing a place, and a motion cut there", async (t) => {
  const motion = SlideMotion.to(0, { position: 0, speed: 0 }, 1000, 100, 200);
  const time = motion.timeAt(525);
  t.ok(time !== undefined && Math.abs(time - 5.5) < 1e-6);
  t.ok(Math.abs(motion.cut(time ?? 0).end - 525) < 1e-3);
  t.equal(motion.timeAt(1001), undefined);
});
