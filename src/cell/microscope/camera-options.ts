/** What a microscope is made with, and what of it the native camera is told. */
import type { CameraOptions } from "../native.js";
import type { MicroscopeProfile } from "../profile.js";

export interface MicroscopeOptions {
  /** Name of the view. */
  readonly name: string;
  readonly profile: MicroscopeProfile;
  /** IP address or Aravis id of the camera, or the path of a V4L2 device, as the profile's interface says. */
  readonly address?: string;
  /** Or a folder of images instead of a camera. */
  readonly folder?: string;
  /** Serial number that must answer there. */
  readonly serial?: string;
  /** Frames per second; the profile's without. */
  readonly frameRate?: number;
  readonly packetSize?: number;
  /** Frames held in memory; a second's worth without. */
  readonly ringSize?: number;
  readonly mode?: "newest" | "bounded";
  /** "Software", or an input of the camera such as "Line0"; without, frames come by themselves. */
  readonly triggerSource?: string;
  readonly triggerActivation?: "RisingEdge" | "FallingEdge";
  /** Silence after which the camera counts as offline; the profile's without. */
  readonly silenceLimitS?: number;
  /** Settings to begin with; without, what the camera has. */
  readonly exposureUs?: number;
  readonly gain?: number;
}

/** Bytes of a packet when nothing else is said; a network of jumbo frames carries them. */
const usualPacketSize = 9000;
const leastRing = 8;

/** Of the native camera: source, what the profile says of sensor and wire, and the caller's choices. */
export function nativeOptions(options: MicroscopeOptions): CameraOptions {
  const { profile, mode } = options;
  const frameRate = options.frameRate ?? profile.camera.frameRate.value;
  return {
    name: options.name,
    ...source(options),
    width: profile.camera.width.value,
    height: profile.camera.height.value,
    frameRate,
    packetSize: options.packetSize ?? usualPacketSize,
    ringSize: options.ringSize ?? Math.max(leastRing, Math.ceil(frameRate) + 4),
    mode: mode ?? "newest",
    // An image folder has no wire.
    ...(options.folder === undefined ? wire(options) : {}),
  };
}

function source(options: MicroscopeOptions): Pick<CameraOptions, "address" | "device" | "folder"> {
  const { address = "", folder, profile } = options;
  if (folder !== undefined) return { folder };
  return profile.camera.interface === "v4l2" ? { device: address } : { address };
}

/** How the pixels come over the wire, and when. */
function wire({
  profile: { camera },
  triggerSource,
  triggerActivation,
}: MicroscopeOptions): Partial<CameraOptions> {
  return {
    pixelFormat: camera.pixelFormat,
    ...(camera.offsetX === undefined ? {} : { offsetX: camera.offsetX.value }),
    ...(camera.offsetY === undefined ? {} : { offsetY: camera.offsetY.value }),
    ...(camera.binning === undefined ? {} : { binning: camera.binning.value }),
    ...(camera.packetDelay === undefined ? {} : { packetDelayUs: camera.packetDelay.value * 1e6 }),
    ...(triggerSource === undefined ? {} : { triggerSource }),
    ...(triggerActivation === undefined ? {} : { triggerActivation }),
  };
}
