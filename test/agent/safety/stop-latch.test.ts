import t from "tap";
import { StopLatch } from "../../../src/agent/safety/stop-latch.js";

const clear = { stopReleased: true, selfCheckOk: true } as const;

t.test("only a person's edge after the latest stop clears it", async (t) => {
  const latch = new StopLatch();
  t.equal(latch.reset({ stopNumber: 0, by: "Ada" }, clear).cleared, false, "nothing to reset");
  const first = latch.engage("operator", 10);
  const second = latch.engage("guard", 11);
  t.equal(latch.latched, true);
  t.equal(
    latch.reset({ stopNumber: first, by: "Ada" }, clear).cleared,
    false,
    "a reset given before the latest stop",
  );
  t.equal(latch.reset({ stopNumber: second, by: " " }, clear).cleared, false, "by nobody");
  for (const value of [false, "unknown"] as const) {
    t.equal(latch.reset({ stopNumber: second, by: "Ada" }, { ...clear, selfCheckOk: value }).cleared, false);
    t.equal(latch.reset({ stopNumber: second, by: "Ada" }, { ...clear, stopReleased: value }).cleared, false);
  }
  t.equal(latch.reset({ stopNumber: second, by: "Ada" }, clear).cleared, true);
  t.equal(latch.latched, false);
  const third = latch.engage("again", 12);
  t.equal(
    latch.reset({ stopNumber: second, by: "Ada" }, clear).cleared,
    false,
    "a reset held down clears nothing new",
  );
  t.match(latch.state, { latched: true, stopNumber: third, reason: "again", sinceS: 12 });
});
