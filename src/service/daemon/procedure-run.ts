/**
 * One run of the decision loop: its session, its recording and the ports through which the loop reaches the cell. Without
 * targets it is the preparation for planning, and ends when the images are usable.
 */
import { asCellError } from "../../base/errors.js";
import { DecisionLoop } from "../../agent/loop/decision-loop.js";
import type { LoopResult } from "../../agent/loop/events.js";
import { Observer } from "../../agent/loop/observer.js";
import { defaultPerceptionLimits } from "../../agent/perception/limits.js";
import type { ProcedureTarget } from "../../agent/procedure/schema.js";
import type { StopLatch } from "../../agent/safety/stop-latch.js";
import type { CellState } from "../../agent/safety/types.js";
import { Session } from "../../agent/skills/session.js";
import { cellAddon, type FrameLease } from "../../cell/native.js";
import { joints } from "../../cell/ur/kinematics.js";
import { singularityLevel, singularityMeasures, type SingularityLevel } from "../../cell/ur/singularity.js";
import type { LoadedConfig } from "../../base/config.js";
import type { Recording } from "../../record/recording.js";
import type { CellStatus } from "../command/protocol.js";
import type { CellContext } from "./cell.js";
import type { ConfiguredCell } from "./configured-cell.js";
import type { FaultWatch } from "./fault-watch.js";
import { asCellEvent, loopOptions } from "./loop-seam.js";
import type { ProgressHandle } from "./progress.js";
import type { Recordings } from "./recordings.js";
import { makeSkills } from "./skill-set.js";

/** What a run needs of the cell around it. */
export interface RunSurroundings {
  readonly context: CellContext;
  readonly loaded: LoadedConfig;
  readonly cell: ConfiguredCell;
  readonly latch: StopLatch;
  readonly faults: FaultWatch;
  readonly recordings: Recordings;
  /** The session before: what it established about needle, focus and loops is still so. */
  readonly previous: Session | undefined;
  readonly halt: (reason: string) => Promise<void>;
  readonly status: () => CellStatus;
}

export interface RunRequest {
  readonly name: string;
  readonly query: string;
  readonly targets: readonly ProcedureTarget[];
  /** Files kept word for word in the recording, by name. */
  readonly inputs: Readonly<Record<string, string>>;
}

export class ProcedureRun {
  readonly session: Session;
  readonly loop: DecisionLoop;
  readonly query: string;
  /** How it ended; rejects only on a defect. */
  done: Promise<LoopResult> = new Promise(() => undefined);
  finished = false;
  private readonly ending = new AbortController();
  private readonly progress: ProgressHandle;
  private readonly planning: boolean;
  private singular: SingularityLevel = "clear";
  private cycleNow = 0;
  private lastUsable = false;

  private constructor(
    private readonly around: RunSurroundings,
    request: RunRequest,
    readonly recording: Recording<FrameLease>,
  ) {
    const { cell, context, loaded, previous } = around;
    this.query = request.query;
    this.planning = request.targets.length === 0;
    this.session = new Session(request.targets, cell.file.cartridge.loops);
    if (previous !== undefined) this.session.inherit(previous);
    this.progress = context.progress.register("decision loop");
    this.loop = this.makeLoop(loaded);
  }

  /** @throws CellError AUDIT_WRITE when nothing can be recorded */
  static async prepare(around: RunSurroundings, request: RunRequest): Promise<ProcedureRun> {
    const recording = await around.recordings.create(request.name, around.loaded, request.inputs);
    return new ProcedureRun(around, request, recording);
  }

  /** Lets the loop run. Once. */
  go(): void {
    this.done = this.loop
      .run(this.ending.signal)
      .finally(() => this.progress.unregister())
      .then((result) => this.conclude(result));
    this.done.catch((error: unknown) => {
      this.around.context.log.error({ error: asCellError(error).message }, "the run ended badly");
      this.finished = true;
    });
  }

  /** Ends the loop as its caller's wish, and waits for it. Never rejects. */
  async end(why: Error): Promise<void> {
    this.ending.abort(why);
    await this.done.catch(() => undefined);
  }

  private makeLoop(loaded: LoadedConfig): DecisionLoop {
    const { cell, context, faults, latch, halt, status } = this.around;
    const { devices, reasoner, servo } = cell;
    const { clock } = context;
    const { session, query } = this;
    const { frames, audit } = this.recording;
    const bench = cell.bench(session, latch, clock, (frame, label) => {
      void frames.store(frame, label, this.cycleNow);
    });
    const observer = new Observer({
      devices,
      geometry: cellAddon().geometry,
      clock,
      query,
      session,
      bench,
      perceptionLimits: defaultPerceptionLimits,
      stopLatched: () => latch.latched,
      selfCheckFaults: () => faults.obstacles(),
      nearSingularity: (q) => this.nearSingularity(q),
      keep: (frame, observationId, cycle) => void frames.store(frame, observationId, cycle),
      withImages: reasoner.name !== "rules",
    });
    const { progress } = this;
    return new DecisionLoop(
      {
        clock,
        reasoner,
        skills: makeSkills({
          bench: () => bench,
          runServo: (request, signal) => servo.run(request, signal),
          dh: devices.geometry,
          latch: (why) => void latch.engage(why, clock.now()),
          selfCheck: () => Promise.resolve(faults.obstacles()),
        }),
        audit,
        latch,
        observe: async (cycle, signal) => {
          progress.advance();
          this.cycleNow = cycle;
          const capture = await observer.observe(cycle, signal);
          this.lastUsable = capture.observation.visual.usable === true;
          return capture;
        },
        readState: () => {
          progress.advance();
          return Promise.resolve(observer.readState());
        },
        watchState: (listener) => {
          const { robot } = devices.arm;
          const onSample = (): void => listener(observer.readState());
          robot.on("sample", onSample);
          return () => robot.off("sample", onSample);
        },
        stop: halt,
        isTerminal: (state) => (this.planning ? this.isReadyToPlan(state) : isImplanted(state)),
        goal: this.planning
          ? "both views are usable: targets can be picked"
          : "all targets are implanted and the needle is withdrawn",
        emit: (event) => context.publish(asCellEvent(event, status)),
      },
      loopOptions(loaded.config, this.planning),
    );
  }

  private async conclude(result: LoopResult): Promise<LoopResult> {
    const { context, status } = this.around;
    const failed = (what: string) => (error: unknown) =>
      context.log.error({ error: asCellError(error).message }, what);
    const { outcome, state, reason, counts } = result;
    await this.recording.writeSummary({ outcome, state, reason, counts }).catch(failed("no summary"));
    await this.recording.close().catch(failed("recording"));
    this.finished = true;
    context.publish({ topic: "state", event: status() });
    return result;
  }

  private nearSingularity(q: readonly number[]): boolean {
    const { devices } = this.around.cell;
    this.singular = singularityLevel(singularityMeasures(devices.geometry, joints(q)), this.singular);
    return this.singular !== "clear";
  }

  private isReadyToPlan(state: CellState): boolean {
    return (
      this.lastUsable &&
      state.nearSingularity === false &&
      Object.values(state.camerasOnline).every((online) => online === true)
    );
  }
}

/** All targets implanted, electrode released, needle withdrawn, axes still. */
const isImplanted = (state: CellState): boolean =>
  state.targetsLeft === 0 &&
  state.needleOutOfTissue === true &&
  state.electrodeLoaded === false &&
  state.still === true;
