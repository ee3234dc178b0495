/** The table of the document's fault modes names switches that exist, all of them, and tests that set them. */
import { readFileSync } from "node:fs";
import path from "node:path";
import t from "tap";
import { projectRoot } from "../../src/base/paths.js";
import { cameraFaults } from "../../src/twin/camera-faults.js";
import { CameraServer } from "../../src/twin/camera-server.js";
import { KohzuEmulator } from "../../src/twin/kohzu/kohzu-emulator.js";
import { kohzuFaults } from "../../src/twin/kohzu/kohzu-faults.js";
import { NeedleDriveEmulator } from "../../src/twin/needle/needle-drive.js";
import { needleFaults } from "../../src/twin/needle/needle-faults.js";
import { cellFaults } from "./cell-faults.js";

const nothing = (): void => undefined;
const later = (): Promise<void> => Promise.resolve();
const stages = new KohzuEmulator({ seed: 1, axes: [] });
t.teardown(() => stages.dispose());
const known = Object.keys({
  ...kohzuFaults(stages, { drop: nothing, cut: nothing }),
  ...needleFaults(new NeedleDriveEmulator({ seed: 1 }), { open: later, close: later }),
  ...cameraFaults(new CameraServer(), { online: [true, true], frozen: [false, false], focusKnockM: [0, 0] }),
});

t.test("every switch of stages, needle and cameras stands in the table, and every one of it exists", (t) => {
  const named = new Set(cellFaults.flatMap(({ switches }) => switches));
  t.same([...named].sort(), [...known].sort());
  t.end();
});

t.test("every row names a test that is there and that uses its switches", (t) => {
  for (const { fault, switches, test } of cellFaults) {
    const [file = "", title = ""] = test.split(" :: ");
    const source = readFileSync(path.join(projectRoot, "test", file), "utf8");
    t.ok(title.length > 10 && source.includes(title), `${fault}: ${test}`);
    for (const one of switches) t.ok(source.includes(`"${one}"`), `${fault}: ${file} sets ${one}`);
  }
  t.end();
});
