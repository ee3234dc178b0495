/** arv-camera-test: a GigE Vision client that sets a camera up, streams, and counts what went wrong. */
import { peerTest } from "../peer.js";
import { cameraRig } from "../../faults/camera/rig.js";
import { aravisToolsVersion, cameraTest, cameraTestWithoutDrops, gigePeer } from "./programs.js";

peerTest(
  {
    peer: "arv-camera-test-0.8 (Debian aravis-tools)",
    version: aravisToolsVersion,
    against: "GigE Vision camera of the native tests",
    exercised:
      "discovery by address, control privilege, heartbeat, region, binning, exposure, gain, frame rate, packet size and delay, software trigger, lost packets asked for again",
  },
  async (t, check) => {
    const address = "127.9.0.3";
    const peer = await gigePeer(t, address, "PEER3");
    const settings = [
      "-w",
      "256",
      "-h",
      "192",
      "-f",
      "20",
      "-e",
      "2000",
      "-g",
      "6",
      "-i",
      "1500",
      "-y",
      "1000",
    ];
    const plain = cameraTestWithoutDrops(address, 3, settings);
    check(/exposure\s+= 2000/.test(plain.text), "the exposure time was taken", { text: plain.text });
    check(/gain\s+= 6 dB/.test(plain.text), "the gain was taken");
    check(/packet delay\s+= 1000 ns/.test(plain.text), "the packet delay was taken");
    check(/packet size\s+= 1500/.test(plain.text), "the packet size was taken");
    check(/payload\s+= 49152 bytes/.test(plain.text), "256 × 192 pixels of a byte");
    check((plain.counts.get("n_completed_buffers") ?? 0) >= 45, "20 frames a second for three seconds");
    check(plain.counts.get("n_failures") === 0, "no frame failed", { kernelDrops: plain.kernelDrops });

    const binned = cameraTest(address, 1, ["--h-binning=2", "--v-binning=2"]);
    check(/horizontal binning\s+= 2/.test(binned.text), "binning was taken", { text: binned.text });
    check(/payload\s+= 49152 bytes/.test(binned.text), "a quarter of 512 × 384");

    const triggered = cameraTest(address, 3, ["-o", "5"]);
    const frames = triggered.counts.get("n_completed_buffers") ?? 0;
    check(frames >= 8 && frames <= 18, `${frames} frames for 5 triggers a second`, { text: triggered.text });

    await peer.tell("loss 5");
    const lossy = cameraTest(address, 3, ["-f", "20"]);
    check((lossy.counts.get("n_resent_packets") ?? 0) > 0, "lost packets were sent again", {
      text: lossy.text,
    });
    check(lossy.counts.get("n_failures") === 0, "and no frame failed");
    await peer.tell("loss 0");
    const counted = await peer.end();
    check(
      counted.resentPackets === lossy.counts.get("n_resent_packets"),
      "the camera resent as many packets as the client received",
      counted,
    );
  },
);

peerTest(
  {
    peer: "arv-camera-test-0.8 (Debian aravis-tools)",
    version: aravisToolsVersion,
    against: "emulated microscope",
    exercised: "full frames, exposure, frame rate, software trigger, packets that do not leave",
  },
  async (t, check) => {
    const { faults } = await cameraRig(t);
    const address = "127.0.0.64";
    const plain = cameraTestWithoutDrops(address, 3, ["-f", "10", "-i", "16000", "-e", "5000"]);
    check(/payload\s+= 4194304 bytes/.test(plain.text), "2048 × 2048 pixels of a byte", { text: plain.text });
    check((plain.counts.get("n_completed_buffers") ?? 0) >= 20, "10 frames a second for three seconds");
    check(plain.counts.get("n_failures") === 0, "no frame failed", { kernelDrops: plain.kernelDrops });
    const triggered = cameraTest(address, 3, ["-i", "16000", "-o", "5"]);
    const frames = triggered.counts.get("n_completed_buffers") ?? 0;
    check(frames >= 8 && frames <= 18, `${frames} frames for 5 triggers a second`, { text: triggered.text });
    faults.set("camera-lost-packets", "1:10");
    const lossy = cameraTest(address, 3, ["-f", "10", "-i", "16000"]);
    check((lossy.counts.get("n_failures") ?? 0) > 0, "frames with holes are seen as such", {
      text: lossy.text,
    });
    check(lossy.counts.get("n_resent_packets") === 0, "this camera resends nothing");
  },
);
