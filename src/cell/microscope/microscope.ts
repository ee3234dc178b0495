/**
 * One microscope's camera as a device: found, identified, configured, streaming, watched, reopened. Frames stay in
 * native memory; this decides when they may be trusted.
 */
import { monotonicNow, withDeadline } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { clamp, finite } from "../../base/units.js";
import type { MicroscopeDevice } from "../devices.js";
import { Lifecycle, type LifecycleStatus } from "../lifecycle.js";
import {
  cellAddon,
  type CameraIdentity,
  type FrameLease,
  type GrabberCounters,
  type NativeCamera,
} from "../native.js";
import { asNativeError } from "../native-error.js";
import { CameraFeature, type FeatureBounds } from "./camera-feature.js";
import { nativeOptions, type MicroscopeOptions } from "./camera-options.js";

/** Finding a camera that a dead program still controls takes three rounds of its heartbeat; closing a dead one too. */
const openLimitS = 45;
const closeLimitS = 30;
/** First frame after a start. */
const firstFrameS = 5;
const firstTriggers = 5;
/** A wait for a feature: the renderer of a camera server may hold it up, the wire not. */
const featureLimitS = 10;

export class Microscope implements MicroscopeDevice {
  onState: (status: LifecycleStatus) => void = () => undefined;

  private readonly lifecycle: Lifecycle;
  private readonly silenceLimitS: number;
  private readonly exposureFeature: CameraFeature;
  private readonly gainFeature: CameraFeature;
  private camera: NativeCamera | undefined;
  private found: CameraIdentity | undefined;
  /** One life-cycle change at a time. */
  private changing: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: MicroscopeOptions) {
    const { name, profile } = options;
    if ((options.address === undefined) === (options.folder === undefined))
      throw new CellError("CONFIG_INVALID", `${name}: a microscope has either an address or a folder`);
    this.silenceLimitS = finite(
      options.silenceLimitS ?? profile.camera.noFrame.value,
      `${name}: silenceLimitS`,
    );
    this.lifecycle = new Lifecycle(name);
    this.lifecycle.onChange = (status) => this.onState(status);
    const { camera } = profile;
    this.exposureFeature = new CameraFeature(
      name,
      camera.exposureFeature,
      { min: camera.minExposure.value * 1e6, max: camera.maxExposure.value * 1e6 },
      options.exposureUs,
    );
    this.gainFeature = new CameraFeature(
      name,
      camera.gainFeature,
      { min: camera.minGain.value, max: camera.maxGain.value },
      options.gain,
    );
  }

  get name(): string {
    return this.options.name;
  }

  get status(): LifecycleStatus {
    return this.lifecycle.status;
  }

  get identity(): CameraIdentity | undefined {
    return this.found;
  }

  /** Counts on over a reopening. */
  get counters(): GrabberCounters | undefined {
    return this.camera?.counters();
  }

  /** The same object for the microscope's whole life, so that the servo may keep it. */
  get native(): NativeCamera | undefined {
    return this.camera;
  }

  /** New pictures come, and the camera is ours. A camera that froze on one picture is as good as none. */
  online(): boolean {
    const { camera } = this;
    return (
      camera !== undefined &&
      this.lifecycle.current === "active" &&
      !camera.lost &&
      camera.silenceS() < this.silenceLimitS
    );
  }

  /** Seconds since the last new picture. */
  silenceS(): number {
    return this.camera?.silenceS() ?? Infinity;
  }

  /**
   * Finds and configures the camera: unconfigured → inactive.
   * @throws CellError DEVICE_MISSING, DEVICE_REFUSED, DEVICE_WRONG_MODEL, CAMERA_FEATURE, CAMERA_OFFLINE, LINK_ABORTED
   */
  async connect(signal?: AbortSignal): Promise<CameraIdentity> {
    return this.change(async () => {
      if (this.lifecycle.current !== "unconfigured")
        throw new CellError(
          "COMMAND_INVALID",
          `${this.name} is ${this.lifecycle.current}: connected already`,
        );
      return this.connectNow(signal);
    });
  }

  /** Starts the stream and waits for the first frame: inactive → active. @throws CellError CAMERA_OFFLINE */
  async activate(signal?: AbortSignal): Promise<void> {
    return this.change(async () => {
      if (this.lifecycle.current === "active") return;
      this.lifecycle.requireReadable("activate");
      await this.activateNow(signal);
    });
  }

  /** Close, find again, re-apply settings, take a test frame. The way out of a fault. */
  async reopen(signal: AbortSignal): Promise<void> {
    return this.change(async () => {
      if (this.lifecycle.current === "finalized")
        throw new CellError("COMMAND_INVALID", `${this.name} is closed for good`);
      try {
        await this.closeNow();
        await this.connectNow(signal);
        await this.activateNow(signal);
      } catch (error) {
        const failure = asNativeError(error, `${this.name}: reopening`);
        this.lifecycle.fail(failure);
        throw failure;
      }
    });
  }

  /** Idempotent; nothing works afterwards. */
  async close(): Promise<void> {
    this.lifecycle.desire("finalized");
    return this.change(async () => {
      if (this.lifecycle.current === "finalized") return;
      try {
        await this.closeNow();
      } finally {
        this.lifecycle.enter("finalized");
      }
    });
  }

  /**
   * @throws CellError CAMERA_OFFLINE when no frame comes because none do; CAMERA_FROZEN when they all show the same
   *   picture; LINK_TIMEOUT when it was merely not in time
   */
  async nextFrame(afterS: number, timeoutS: number): Promise<FrameLease> {
    this.lifecycle.requireActive("a frame");
    const camera = this.requireCamera();
    try {
      const frame = await camera.next(
        finite(afterS, `${this.name}: afterS`),
        clamp(timeoutS, 0, 3600), // a wait without an end is none
      );
      if (camera.silenceS() < this.silenceLimitS) return frame;
      frame.release();
      throw new CellError(
        "CAMERA_FROZEN",
        `${this.name}: the same picture for ${camera.silenceS().toFixed(2)} s`,
      );
    } catch (error) {
      const failure = asNativeError(error, this.name);
      if (camera.lost) this.lifecycle.fail(failure);
      if (failure.code === "LINK_TIMEOUT" && !this.online())
        throw new CellError(
          "CAMERA_OFFLINE",
          `${this.name}: no frame for ${camera.silenceS().toFixed(2)} s`,
          { cause: failure },
        );
      throw failure;
    }
  }

  /**
   * Asks for one frame of a camera that waits for software triggers; resolves with the trigger's number, which the frame
   * carries. @throws CellError COMMAND_INVALID, CAMERA_OFFLINE
   */
  async trigger(): Promise<number> {
    this.lifecycle.requireActive("a trigger");
    return this.feature(this.requireCamera().trigger());
  }

  async exposureUs(): Promise<number> {
    return this.feature(this.exposureFeature.read(this.requireReadable("exposure")));
  }

  /** Rounded to the camera's increment; resolves with what it holds. @throws CellError DEVICE_LIMIT, CAMERA_FEATURE */
  async setExposureUs(value: number): Promise<number> {
    return this.feature(this.exposureFeature.write(this.requireReadable("exposure"), value));
  }

  /** What camera and profile both allow. */
  async exposureBoundsUs(): Promise<FeatureBounds> {
    return this.feature(this.exposureFeature.bounds(this.requireReadable("exposure")));
  }

  async gain(): Promise<number> {
    return this.feature(this.gainFeature.read(this.requireReadable("gain")));
  }

  /** In the unit of the profile's gain feature. @throws CellError DEVICE_LIMIT, CAMERA_FEATURE */
  async setGain(value: number): Promise<number> {
    return this.feature(this.gainFeature.write(this.requireReadable("gain"), value));
  }

  async gainBounds(): Promise<FeatureBounds> {
    return this.feature(this.gainFeature.bounds(this.requireReadable("gain")));
  }

  private async connectNow(signal: AbortSignal | undefined): Promise<CameraIdentity> {
    const camera = this.makeCamera();
    try {
      const identity = await this.bounded(camera, camera.open(), signal, openLimitS, "opening");
      this.check(identity);
      // An image folder has no light to set.
      if (this.options.folder === undefined) {
        await this.feature(this.exposureFeature.apply(camera));
        await this.feature(this.gainFeature.apply(camera));
      }
      this.found = identity;
      this.lifecycle.enter("inactive");
      return identity;
    } catch (error) {
      const failure = asNativeError(error, `${this.name}: connecting`);
      await camera.close().catch(() => undefined);
      throw failure;
    }
  }

  private async activateNow(signal: AbortSignal | undefined): Promise<void> {
    this.lifecycle.desire("active");
    const camera = this.requireCamera();
    try {
      await this.bounded(camera, camera.start(), signal, openLimitS, "starting");
      await this.firstFrame(camera, signal);
      this.lifecycle.enter("active");
    } catch (error) {
      await this.closeNow();
      const failure = asNativeError(error, `${this.name}: activating`);
      this.lifecycle.fail(failure);
      throw failure;
    }
  }

  /** Waits until the camera delivers. With an input as the trigger nothing is to be expected. */
  private async firstFrame(camera: NativeCamera, signal: AbortSignal | undefined): Promise<void> {
    const { triggerSource } = this.options;
    if (triggerSource !== undefined && triggerSource !== "Software") return;
    const startedS = monotonicNow();
    // A camera may not be ready for a trigger at once, and then ignores it.
    for (let tries = triggerSource === "Software" ? firstTriggers : 1; ; tries--) {
      if (triggerSource === "Software") await this.feature(camera.trigger());
      const limitS = triggerSource === "Software" ? firstFrameS / firstTriggers : firstFrameS;
      const first = camera.next(startedS, limitS);
      try {
        (await this.bounded(camera, first, signal, limitS + 1, "first frame")).release();
        return;
      } catch (error) {
        void first.then(
          (late) => late.release(),
          () => undefined,
        );
        if (tries > 1 && asNativeError(error, this.name).code === "LINK_TIMEOUT") continue;
        throw new CellError("CAMERA_OFFLINE", `${this.name} was started and delivers no frame`, {
          cause: error,
        });
      }
    }
  }

  private async closeNow(): Promise<void> {
    const { camera } = this;
    if (camera === undefined) return;
    await withDeadline(camera.close(), closeLimitS, `${this.name}: closing`);
  }

  private makeCamera(): NativeCamera {
    if (this.camera !== undefined) return this.camera;
    try {
      this.camera = new (cellAddon().Camera)(nativeOptions(this.options));
    } catch (error) {
      throw asNativeError(error, this.name);
    }
    return this.camera;
  }

  /** @throws CellError DEVICE_WRONG_MODEL */
  private check(identity: CameraIdentity): void {
    const { profile, serial, folder } = this.options;
    const wanted = profile.camera.identity;
    if (folder !== undefined) return;
    const fits = (pattern: string, value: string): boolean => new RegExp(`^(?:${pattern})$`, "u").test(value);
    if (wanted && !(fits(wanted.vendor, identity.vendor) && fits(wanted.model, identity.model)))
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `${this.name}: ${identity.vendor} ${identity.model} answers, profile ${profile.name} is for ${wanted.vendor} ${wanted.model}`,
      );
    if (serial !== undefined && serial !== identity.serial)
      throw new CellError(
        "DEVICE_WRONG_MODEL",
        `${this.name}: the camera with serial number ${identity.serial} answers instead of ${serial}`,
        { remedy: "are the cameras' addresses exchanged? correct the address or the serial number" },
      );
  }

  private requireCamera(): NativeCamera {
    if (this.camera === undefined)
      throw new CellError("COMMAND_INVALID", `${this.name} is ${this.lifecycle.current}: not connected`);
    return this.camera;
  }

  private requireReadable(what: string): NativeCamera {
    const { fault } = this.lifecycle.status;
    if (fault !== undefined) throw fault;
    this.lifecycle.requireReadable(what);
    return this.requireCamera();
  }

  private async feature<T>(work: Promise<T>): Promise<T> {
    try {
      return await withDeadline(work, featureLimitS, `${this.name}: a camera feature`);
    } catch (error) {
      throw asNativeError(error, this.name);
    }
  }

  /** Native work with a deadline that gives up early, by closing the camera, when the signal fires. */
  private async bounded<T>(
    camera: NativeCamera,
    work: Promise<T>,
    signal: AbortSignal | undefined,
    limitS: number,
    what: string,
  ): Promise<T> {
    let giveUp: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      giveUp = () => {
        void camera.close().catch(() => undefined);
        reject(
          new CellError("LINK_ABORTED", `${this.name}: ${what} was cancelled`, { cause: signal?.reason }),
        );
      };
    });
    if (signal?.aborted === true) giveUp?.();
    else if (giveUp) signal?.addEventListener("abort", giveUp, { once: true });
    // Whichever loses the race must not be reported as unhandled.
    work.catch(() => undefined);
    try {
      return await Promise.race([withDeadline(work, limitS, `${this.name}: ${what}`), aborted]);
    } finally {
      if (giveUp) signal?.removeEventListener("abort", giveUp);
    }
  }

  private async change<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.changing.then(work, work);
    this.changing = turn.catch(() => undefined);
    return turn;
  }
}
