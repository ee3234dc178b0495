/**
 * Takes observations: a fresh frame of each microscope that delivers, what native vision measures on them, and the cell
 * state read from the devices and the session. Nothing in it comes from a model or from a plan.
 */
import type { Clock } from "../../base/clock.js";
import { CellError } from "../../base/errors.js";
import { angleBetween } from "../../base/transform.js";
import type { CellDevices } from "../../cell/devices.js";
import type { FrameLease, Geometry, NeedleEstimate } from "../../cell/native.js";
import { makeObservation } from "../perception/observation.js";
import type { PerceptionLimits } from "../perception/limits.js";
import { perceive } from "../perception/perceive.js";
import { directionFromImages, type Pixel } from "../perception/view-model.js";
import type { PoseMeasurement } from "../perception/visual-conditions.js";
import type { ReasonerImage } from "../reasoners/reasoner.js";
import type { Tri } from "../safety/conditions.js";
import type { CellState, FrameReference } from "../safety/types.js";
import { plannedAxis } from "../skills/pose-correction.js";
import type { Session } from "../skills/session.js";
import { asPair, type Workbench } from "../skills/workbench.js";
import type { Capture } from "./ports.js";

export interface ObserverParts {
  readonly devices: CellDevices;
  readonly geometry: Geometry;
  readonly clock: Clock;
  readonly query: string;
  readonly session: Session;
  readonly bench: Workbench;
  readonly perceptionLimits: PerceptionLimits;
  readonly stopLatched: () => boolean;
  /** Items of the self-check that do not pass now; cheap, from what is known. */
  readonly selfCheckFaults: () => readonly string[];
  readonly nearSingularity: (q: readonly number[]) => boolean;
  /** Keeps a frame; takes over the lease. */
  readonly keep: (frame: FrameLease, observationId: string, cycle: number) => void;
  /** Whether the reasoner looks at images; they cost a JPEG each. */
  readonly withImages: boolean;
}

/** Width of the images that a reasoner gets: frames are reduced by this whole factor. */
const imageReduction = 2;
/** A state of the arm older than this says nothing, s: the arm itself stops long before, when it hears nothing from here. */
const armAgeS = 1;

export class Observer {
  /** Ages come from two clocks' readings; the time of a state never runs backwards because of it. */
  private lastReadAtS = 0;

  constructor(private readonly parts: ObserverParts) {}

  /** One observation of new frames; a camera that is offline or silent leaves its frame out. */
  async observe(cycle: number, signal: AbortSignal): Promise<Capture> {
    const { devices, geometry, clock, query, session } = this.parts;
    const nowS = clock.now();
    const frames: FrameLease[] = [];
    await Promise.all(
      devices.microscopes.map(async (microscope) => {
        if (!microscope.online()) return;
        try {
          frames.push(await microscope.nextFrame(nowS, 1));
        } catch (error) {
          // Silent from now on: the camera counts as offline through its age, and the frame is missing.
          if (!(error instanceof CellError)) throw error;
        }
      }),
    );
    signal.throwIfAborted();
    const cameras = devices.microscopes.map((microscope) => microscope.name);
    frames.sort((a, b) => cameras.indexOf(a.camera) - cameras.indexOf(b.camera));
    const [{ visual, needles }, references, images] = await Promise.all([
      perceive(frames, geometry, {
        cameras,
        limits: this.parts.perceptionLimits,
        pose: (found) => this.pose(found),
      }),
      Promise.all(frames.map((frame) => this.reference(frame))),
      this.parts.withImages ? Promise.all(frames.map((frame) => this.image(frame))) : Promise.resolve([]),
    ]);
    cameras.forEach((camera, i) => {
      const needle = needles.get(camera);
      if (needle?.found === true) session.needles[i] = needle;
    });
    const observation = makeObservation({ query, frames: references, state: this.readState(), visual });
    const hashed = images.map((image) => ({
      ...image,
      sha256: references.find((reference) => reference.camera === image.camera)?.sha256 ?? "",
    }));
    for (const frame of frames) this.parts.keep(frame, observation.id, cycle);
    return { observation, images: hashed, release: () => undefined };
  }

  /** The state as measured now. */
  readState(): CellState {
    const { devices, session, clock } = this.parts;
    const nowS = clock.now();
    const arm = devices.arm.state();
    const fresh = arm !== undefined && arm.connected && arm.ageS < armAgeS;
    const faults = this.parts.selfCheckFaults();
    const next = session.nextTarget();
    const { alignment } = session;
    this.lastReadAtS = Math.max(this.lastReadAtS, nowS - (arm === undefined ? 0 : Math.max(0, arm.ageS)));
    const tri = (value: boolean): Tri => (fresh ? value : "unknown");
    return {
      readAtS: this.lastReadAtS,
      jointPositionsRad: fresh ? arm.q : "unknown",
      emergencyStop: tri(arm?.emergencyStopped ?? false),
      protectiveStop: tri(arm?.protectiveStopped ?? false),
      stopLatched: this.parts.stopLatched(),
      selfCheckOk: faults.length === 0,
      selfCheckDetail: faults.join("; "),
      camerasOnline: Object.fromEntries(
        devices.microscopes.map((microscope) => [microscope.name, microscope.online()]),
      ),
      nearSingularity: fresh ? this.parts.nearSingularity(arm.q) : "unknown",
      registered: session.registration !== undefined,
      aligned: alignment !== undefined && alignment.targetIndex === next?.index,
      alignedEpoch: alignment?.epoch ?? 0,
      frameEpoch: session.frameEpoch,
      electrodeAvailable: session.loaded !== undefined || session.loops.size > 0,
      electrodeLoaded: session.loaded !== undefined,
      needleOutOfTissue: !session.needleInTissue,
      needleIntact: session.needleIntact,
      targetsLeft: session.targets.filter((target) => !target.implanted).length,
      still: fresh ? !arm.moving && !devices.stages.moving && !devices.needle.moving : "unknown",
    };
  }

  /** Angle of the needle to the planned axis of the next target, and the tip's distance from its goal, when both are known. */
  private pose(needles: readonly NeedleEstimate[]): PoseMeasurement | undefined {
    const { session, bench } = this.parts;
    const next = session.nextTarget();
    if (next === undefined || session.registration === undefined) return undefined;
    const directions = asPair(needles.map((n): Pixel => [n.directionX, n.directionY]));
    const axis = directionFromImages(bench.views(), directions);
    const angle = angleBetween(axis, plannedAxis(bench, next.state.target));
    const { sitePx } = next.state;
    if (sitePx === undefined) return { needleAngleRad: angle, tipErrorM: [] };
    const goals = bench.goals(next.state.target, sitePx);
    return {
      needleAngleRad: angle,
      tipErrorM: asPair(needles).map((n, i) =>
        bench.lengthInView(i as 0 | 1, [n.tipX, n.tipY], goals[i as 0 | 1]),
      ),
    };
  }

  private async reference(frame: FrameLease): Promise<FrameReference> {
    const { camera, sequence, width, height, hostTimestampS } = frame;
    const sha256 = await this.parts.geometry.hashFrame(frame);
    return { camera, sequence, sha256, width, height, takenAtS: hostTimestampS };
  }

  private async image(frame: FrameLease): Promise<ReasonerImage> {
    const jpeg = await this.parts.geometry.encodeJpeg(frame, 85, imageReduction);
    return {
      camera: frame.camera,
      sequence: frame.sequence,
      sha256: "",
      jpeg,
      width: Math.floor(frame.width / imageReduction),
      height: Math.floor(frame.height / imageReduction),
      reduce: imageReduction,
    };
  }
}
