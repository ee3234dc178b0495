/** The arbiter at work: what begins stops the cell once, what may be overridden passes the self-check. */
import t from "tap";
import type { Clock } from "../../../src/base/clock.js";
import type { FaultSignals } from "../../../src/agent/safety/fault-rules.js";
import { FaultWatch } from "../../../src/service/daemon/fault-watch.js";

function watch(): {
  watch: FaultWatch;
  signals: Record<keyof FaultSignals, unknown>;
  stops: string[];
  told: string[];
} {
  const signals: Record<keyof FaultSignals, unknown> = {
    ...{ armAgeS: 0, armFault: false, emergencyStop: false, protectiveStop: false, stagesReady: true },
    ...{ needleReady: true, needleIntact: "unknown", guardianWatches: true, camerasSilent: 0 },
    ...{ diskFreeBytes: 1e9, recordWritable: "unknown", eventLoopLateS: 0, wallClockStepS: 0 },
  };
  let nowS = 0;
  const clock: Clock = { now: () => nowS++, sleep: () => Promise.resolve() };
  const stops: string[] = [];
  const told: string[] = [];
  const faults = new FaultWatch({
    clock,
    signals: () => ({ ...signals }) as unknown as FaultSignals,
    limits: () => ({ minFreeBytes: 5e8 }),
    detail: () => "as measured",
    onChange: (begun, gone) =>
      told.push(...begun.map(({ rule }) => `+${rule.id}`), ...gone.map(({ id }) => `-${id}`)),
    stop: (why) => stops.push(why),
  });
  return { watch: faults, signals, stops, told };
}

t.test("a fault that stops does so once, when it begins", async (t) => {
  const { watch: faults, signals, stops, told } = watch();
  t.same(faults.obstacles(), []);
  signals.guardianWatches = false;
  t.same(faults.obstacles(), ["the guardian does not watch: as measured"]);
  faults.look();
  t.same(stops, ["the guardian does not watch: as measured"]);
  t.match(
    faults.items().find(({ passed }) => !passed),
    { name: "guardian-gone" },
  );
  signals.guardianWatches = true;
  t.same(faults.obstacles(), []);
  t.same(told, ["+guardian-gone", "-guardian-gone"]);
});

t.test("an override passes the self-check until the fault is gone", async (t) => {
  const { watch: faults, signals, stops } = watch();
  t.throws(() => faults.override("disk-low"), { code: "COMMAND_INVALID" }, "it does not stand");
  signals.diskFreeBytes = 1e8;
  t.equal(faults.obstacles().length, 1);
  faults.override("disk-low");
  t.same(faults.obstacles(), []);
  t.match(faults.status(), [{ id: "disk-low", overridden: true, mayOverride: true }]);
  signals.diskFreeBytes = 1e9;
  faults.look();
  signals.diskFreeBytes = 1e8;
  t.equal(faults.obstacles().length, 1, "the next time it counts again");
  signals.emergencyStop = true;
  t.throws(() => faults.override("emergency-stop"), { code: "COMMAND_INVALID" });
  t.equal(stops.length, 1, "a stop is never overridden");
});
