/** Both emulated cameras of a flat scene with the switches of the twin, and a microscope on the first of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Test } from "tap";
import { Microscope } from "../../../src/cell/microscope/microscope.js";
import type { MicroscopeOptions } from "../../../src/cell/microscope/camera-options.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { cameraFaults, type CameraSwitches } from "../../../src/twin/camera-faults.js";
import { CameraServer } from "../../../src/twin/camera-server.js";
import { FaultSwitches } from "../../../src/twin/fault-switches.js";
import { twinAddon } from "../../../src/twin/native.js";
import { packScene } from "../../../src/twin/scene-layout.js";
import { cameraState, flatScene, needleState } from "../../twin/optics/scene.js";

/** Neither those of a twin that may be running, nor those of other tests. */
const addresses: readonly [string, string] = ["127.0.0.64", "127.0.0.65"];

export const silenceLimitS = 1;

export interface CameraRig {
  readonly faults: FaultSwitches;
  readonly microscope: Microscope;
  /** Another program's microscope on the same camera; closed with the test. */
  readonly another: (changes?: Partial<MicroscopeOptions>) => Promise<Microscope>;
}

export const soon = (): AbortSignal => AbortSignal.timeout(60_000);

export async function cameraRig(t: Test): Promise<CameraRig> {
  const folder = mkdtempSync(path.join(tmpdir(), "surgiclaw-camera-faults-"));
  const files = {
    scene: path.join(folder, "scene.json"),
    state: path.join(folder, "state.bin"),
    cameraLog: path.join(folder, "cameras.log"),
  };
  writeFileSync(files.scene, flatScene(addresses));
  const writer = new (twinAddon().SceneWriter)(files.state);
  const switches: CameraSwitches = {
    online: [true, true],
    frozen: [false, false],
    focusKnockM: [0, 0],
  };
  const write = (): void =>
    writer.write(
      packScene(
        needleState({
          cameras: [0, 1].map((i) =>
            cameraState({
              online: switches.online[i as 0 | 1],
              frozen: switches.frozen[i as 0 | 1],
              focusM: switches.focusKnockM[i as 0 | 1],
            }),
          ),
        }),
      ),
    );
  write();
  const timer = setInterval(write, 20);
  const server = new CameraServer();
  const microscopes: Microscope[] = [];
  t.teardown(async () => {
    await Promise.all(microscopes.map((microscope) => microscope.close()));
    await server.stop();
    clearInterval(timer);
    writer.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await server.start(files);
  const profile = await loadProfile("microscope-md65", "microscope");
  const another = async (changes: Partial<MicroscopeOptions> = {}): Promise<Microscope> => {
    const microscope = new Microscope({
      name: `view${microscopes.length + 1}`,
      profile,
      address: addresses[0],
      serial: "T1",
      frameRate: 10,
      ringSize: 12,
      packetSize: 16_000,
      silenceLimitS,
      ...changes,
    });
    microscopes.push(microscope);
    return Promise.resolve(microscope);
  };
  return { faults: new FaultSwitches(cameraFaults(server, switches)), microscope: await another(), another };
}

/** Connected and delivering. */
export async function delivering(t: Test): Promise<CameraRig> {
  const rig = await cameraRig(t);
  await rig.microscope.connect(soon());
  await rig.microscope.activate(soon());
  return rig;
}
