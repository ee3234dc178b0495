/**
 * A program of its own that grabs frames and prints of each how old it was, and what wall clock the program has:
 * `node frame-times.js ADDRESS SERIAL`, until it is killed.
 */
import { monotonicNow } from "../../../src/base/clock.js";
import { Microscope } from "../../../src/cell/microscope/microscope.js";
import { loadProfile } from "../../../src/cell/profile.js";

const [address = "", serial = ""] = process.argv.slice(2);
const profile = await loadProfile("microscope-md65", "microscope");
const microscope = new Microscope({
  name: "view1",
  profile,
  address,
  serial,
  frameRate: 10,
  packetSize: 16_000,
});
await microscope.connect();
await microscope.activate();
for (;;) {
  const askedS = monotonicNow();
  const frame = await microscope.nextFrame(askedS, 5);
  const afterS = frame.hostTimestampS - askedS;
  frame.release();
  const line = {
    afterS,
    ageS: monotonicNow() - askedS - afterS,
    wallS: Date.now() / 1e3,
    online: microscope.online(),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
