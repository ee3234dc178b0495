/** arv-tool: reads and writes the features of a camera. */
import { debianVersion, peerTest } from "../peer.js";
import { cameraRig } from "../../faults/camera/rig.js";
import { gigePeer, output } from "./programs.js";

const tool = (address: string, ...args: string[]): string => output("arv-tool-0.8", ["-a", address, ...args]);

peerTest(
  {
    peer: "arv-tool-0.8 (Debian aravis-tools-cli)",
    version: () => debianVersion("aravis-tools-cli"),
    against: "emulated microscope and GigE Vision camera of the native tests",
    exercised: "GenICam description, features with bounds and increments, writes that the camera refuses",
  },
  async (t, check) => {
    await cameraRig(t);
    const microscope = tool("127.0.0.64", "control", "Width", "ExposureTimeAbs", "ExposureTimeAbs=4321");
    check(/^Width = 2048 /m.test(microscope), "the sensor's width", { microscope });
    check(/^ExposureTimeAbs = 4321 /m.test(microscope), "an exposure time is written and read back");

    const peer = await gigePeer(t, "127.9.0.3", "PEER3");
    const features = tool("127.9.0.3", "features");
    for (const name of ["Width", "PixelFormat", "TriggerSoftware", "ExposureTime", "Gain", "GevSCPD"])
      check(features.includes(`'${name}'`), `the description names ${name}`);
    for (const format of ["Mono8", "Mono10Packed", "Mono12p", "Mono16"])
      check(features.includes(`'${format}'`), `the description names ${format}`);
    const control = tool(
      "127.9.0.3",
      "control",
      "Width=256",
      "OffsetX",
      "PixelFormat=Mono12Packed",
      "PayloadSize",
    );
    check(/^Width = 256 min:16 max:512 inc:8/m.test(control), "bounds and increment", { control });
    check(/^OffsetX = 0 min:0 max:256 inc:8/m.test(control), "a bound that follows another feature");
    check(/^PayloadSize = 147456/m.test(control), "256 × 384 pixels of one and a half bytes");
    await peer.end();
  },
);
