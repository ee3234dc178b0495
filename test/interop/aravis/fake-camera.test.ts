/** arv-fake-gv-camera: a GigE Vision camera of others for our grabber. */
import { createHash } from "node:crypto";
import { monotonicNow } from "../../../src/base/clock.js";
import { Microscope } from "../../../src/cell/microscope/microscope.js";
import type { MicroscopeOptions } from "../../../src/cell/microscope/camera-options.js";
import { loadProfile } from "../../../src/cell/profile.js";
import { CameraPeer } from "../../cell/microscope/camera-peer.js";
import { waitFor } from "../../faults/wait.js";
import { peerTest } from "../peer.js";
import { aravisProgram, aravisToolsVersion } from "./programs.js";

const address = "127.0.0.1";

peerTest(
  {
    peer: "arv-fake-gv-camera-0.8 (Debian aravis-tools)",
    version: aravisToolsVersion,
    against: "the grabber",
    exercised:
      "identity, frames at 2048 × 2048, exposure and gain with bounds and read-back, software trigger, lost packets, death and reopening",
  },
  async (t, check) => {
    const program = aravisProgram("arv-fake-gv-camera-0.8");
    const start = async (...more: string[]): Promise<CameraPeer> => {
      const peer = await CameraPeer.start(program, address, "SIM07", more);
      if (peer === undefined) throw new Error(`${address} stays taken by another camera`);
      t.teardown(() => peer.kill());
      return peer;
    };
    let camera = await start();
    const profile = await loadProfile("microscope-md65", "microscope");
    const open = (changes: Partial<MicroscopeOptions> = {}): Microscope => {
      const microscope = new Microscope({
        name: "view1",
        profile,
        address,
        serial: "SIM07",
        frameRate: 10,
        packetSize: 16_000,
        ...changes,
      });
      t.teardown(() => microscope.close());
      return microscope;
    };
    const microscope = open();
    const identity = await microscope.connect();
    check(
      identity.vendor === "Aravis" && identity.model === "Fake" && identity.serial === "SIM07",
      "vendor, model and serial number",
      identity,
    );
    await microscope.activate();
    const hashes = new Set<string>();
    for (let i = 0; i < 5; i++) {
      const askedS = monotonicNow();
      const frame = await microscope.nextFrame(askedS, 10);
      hashes.add(createHash("sha256").update(frame.pixels).digest("hex"));
      if (i === 0) {
        check(frame.width === 2048 && frame.height === 2048, "the size of a frame");
        check(frame.hostTimestampS > askedS, "exposed after it was asked for");
        // Its pattern: along a row and down a column the grey rises by one and starts again.
        const rises = (step: number): boolean =>
          [...Array(100).keys()].every((k) => {
            const rise = (frame.pixels[(k + 1) * step] ?? 0) - (frame.pixels[k * step] ?? 0);
            return rise === 1 || rise < -200;
          });
        check(rises(1) && rises(2048), "its pattern, pixel by pixel");
      }
      frame.release();
    }
    check(hashes.size === 5, "every frame is another one");
    check((await microscope.setExposureUs(4_000)) === 4_000, "exposure reads back");
    check((await microscope.setGain(5)) === 5, "gain reads back");
    const refused = await microscope.setGain(11).then(
      () => "accepted",
      (error: unknown) => (error as { code: string }).code,
    );
    check(refused === "DEVICE_LIMIT", "a gain beyond its bounds is not written", { refused });
    check(microscope.counters?.incomplete === 0, "no frame was incomplete", microscope.counters);

    await camera.kill();
    await waitFor(() => !microscope.online());
    camera = await start();
    await microscope.reopen(AbortSignal.timeout(60_000));
    check(microscope.online(), "a new camera at its address is taken");
    check((await microscope.exposureUs()) === 4_000, "with the settings of the old one");
    await microscope.close();

    const triggered = open({ triggerSource: "Software" });
    await triggered.connect();
    await triggered.activate();
    const askedS = monotonicNow();
    const [number, frame] = await Promise.all([triggered.trigger(), triggered.nextFrame(askedS, 10)]);
    check(frame.trigger === number, "a trigger is answered by its frame");
    frame.release();
    await triggered.close();
    await camera.kill();

    await start("-r", "2");
    const lossy = open();
    await lossy.connect();
    await lossy.activate().catch(() => undefined);
    const native = lossy.native;
    if (native === undefined) throw new Error("no camera");
    await waitFor(() => native.counters().incomplete >= 2, 30);
    check(native.counters().resentPackets === 0, "it resends nothing");
    check(!native.lost, "frames with holes do not lose the camera");
  },
);
