/**
 * The cell of this daemon: devices, session, skills, loop and recording brought together. The daemon decides when; this
 * knows what. Everything that may move goes through the loop's gate or is entered in the audit log before it moves.
 */
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { calibratedEdges, loadCalibration, type Calibration } from "../../base/calibration-file.js";
import { readCellFile, type CellFile } from "../../base/cell-file.js";
import type { LoadedConfig } from "../../base/config.js";
import { asCellError, CellError } from "../../base/errors.js";
import { FrameTree } from "../../base/frame-tree.js";
import { DecisionLoop } from "../../agent/loop/decision-loop.js";
import type { LoopResult } from "../../agent/loop/events.js";
import { Observer } from "../../agent/loop/observer.js";
import type { LoopPorts } from "../../agent/loop/ports.js";
import { defaultPerceptionLimits } from "../../agent/perception/limits.js";
import { loadProcedure, saveProcedure } from "../../agent/procedure/procedure-file.js";
import { proposeTargets } from "../../agent/skills/planner.js";
import type { ProcedureTarget } from "../../agent/procedure/schema.js";
import type { Reasoner } from "../../agent/reasoners/reasoner.js";
import { RulesReasoner } from "../../agent/reasoners/rules.js";
import { ZeromqWorkerReasoner } from "../../agent/reasoners/zeromq-worker.js";
import type { SkillName } from "../../agent/safety/skill-names.js";
import { StopLatch } from "../../agent/safety/stop-latch.js";
import type { CellState } from "../../agent/safety/types.js";
import { Session } from "../../agent/skills/session.js";
import { Workbench } from "../../agent/skills/workbench.js";
import { cellAddon, type FrameLease } from "../../cell/native.js";
import { joints } from "../../cell/ur/kinematics.js";
import { singularityLevel, singularityMeasures, type SingularityLevel } from "../../cell/ur/singularity.js";
import type { Recording } from "../../record/recording.js";
import type { CellStatus } from "../command/protocol.js";
import type { Done, PlanAnswer, PlanRequest, StartAnswer, StartRequest } from "../command/service.js";
import type { Cell, CellContext, SelfCheckItem } from "./cell.js";
import { DeviceSet } from "./device-set.js";
import { ServoRunner } from "./servo-runner.js";
import { makeSkills } from "./skill-set.js";
import { CellFaults } from "./cell-faults.js";
import { LatchKeeper } from "./latch-memory.js";
import { asCellEvent, loopOptions } from "./loop-seam.js";
import { Recordings } from "./recordings.js";

interface Run {
  readonly loop: DecisionLoop;
  readonly session: Session;
  readonly recording: Recording<FrameLease>;
  readonly query: string;
  readonly ending: AbortController;
  readonly done: Promise<LoopResult>;
  finished: boolean;
}

/** What a cell has once it is configured. */
interface Configured {
  readonly file: CellFile;
  readonly calibration: Calibration;
  readonly devices: DeviceSet;
  readonly servo: ServoRunner;
  readonly reasoner: Reasoner;
}

const by = "operator";

export class RobotCell implements Cell {
  private configured: Configured | undefined;
  private readonly latch = new StopLatch();
  private run: Run | undefined;
  private active = false;
  private singular: SingularityLevel = "clear";
  private readonly faults: CellFaults;
  private readonly memory: LatchKeeper;
  private readonly recordings: Recordings;
  private lose: (why: string) => void = () => undefined;
  private loss = new Promise<string>(() => undefined);
  private loaded: LoadedConfig;

  constructor(private readonly context: CellContext) {
    this.loaded = context.loaded;
    this.faults = new CellFaults(context, {
      config: () => this.loaded.config,
      devices: () => this.need().devices,
      session: () => this.run?.session,
      audit: () => (this.run?.finished === false ? this.run.recording.audit : undefined),
      stop: (why) => void this.stop(why, "fault arbiter"),
    });
    this.memory = new LatchKeeper(this.latch, context);
    this.recordings = new Recordings(context);
  }

  // Lifecycle --------------------------------------------------------------------------------------------------------

  async configure(signal: AbortSignal): Promise<void> {
    const { config } = this.loaded;
    const { log } = this.context;
    const file = await readCellFile(config.cell.file);
    if (file.id !== config.cell.id)
      throw new CellError("CONFIG_INVALID", `cell.file describes ${file.id}, cell.id is ${config.cell.id}`);
    const calibration = await loadCalibration(config.calibration.file, config.cell.id);
    const guardianLog = path.join(config.record.folder, "guardian.log");
    const devices = await DeviceSet.make({ config, cellFile: file, log, guardianLog });
    const reasoner = await this.makeReasoner();
    await mkdir(config.record.folder, { recursive: true });
    await this.recordings.open(config);
    try {
      await devices.connect(signal, log);
    } catch (error) {
      await devices.close();
      await reasoner.close?.();
      throw error;
    }
    this.loss = new Promise((resolve) => {
      this.lose = resolve;
    });
    devices.guardian.onChange = (status) => {
      if (status.alive) return;
      void this.halt(`guardian: ${status.reason}`);
      // One that acted on silence watches again after a person's reset; one that is gone needs a new start.
      if (status.report?.triggered !== true) this.lose(`the guardian is gone: ${status.reason}`);
    };
    this.configured = { file, calibration, devices, servo: new ServoRunner(devices), reasoner };
    await this.memory.open(config.record.folder);
    await this.faults.start();
  }

  private async makeReasoner(): Promise<Reasoner> {
    const { kind, endpoint, mode, deadlineS, ...profile } = this.loaded.config.reasoner;
    if (kind === "rules") return new RulesReasoner();
    const worker = new ZeromqWorkerReasoner({ endpoint, mode, budgetS: deadlineS, profile });
    await worker.start();
    return worker;
  }

  async selfCheck(): Promise<readonly SelfCheckItem[]> {
    await Promise.resolve();
    return this.faults.watch.items();
  }

  async activate(signal: AbortSignal): Promise<void> {
    await this.need().devices.activate(signal);
    this.active = true;
  }

  lost(): Promise<string> {
    return this.loss;
  }

  reconfigure(loaded: LoadedConfig): void {
    this.loaded = loaded;
  }

  async finalize(): Promise<void> {
    const run = this.run;
    if (run !== undefined && !run.finished) {
      run.ending.abort(new CellError("LINK_ABORTED", "the daemon ends"));
      await run.done.catch(() => undefined);
    }
    this.active = false;
    this.faults.end();
    await this.memory.endOfStop();
    const configured = this.configured;
    this.configured = undefined;
    if (configured === undefined) return;
    configured.servo.stop();
    await configured.devices.close();
    await configured.reasoner.close?.();
  }

  // Commands ---------------------------------------------------------------------------------------------------------

  status(): CellStatus {
    const run = this.run;
    const loop = run?.loop.status();
    const implanted = run?.session.targets.filter((target) => target.implanted).length ?? 0;
    return {
      cell: this.loaded.config.cell.id,
      current: this.configured === undefined ? "unconfigured" : this.active ? "active" : "inactive",
      desired: "active",
      ready: this.active,
      procedure: loop?.state ?? "idle",
      reason: loop?.reason ?? "no procedure has begun",
      query: run?.query ?? null,
      cycle: loop?.cycle ?? 0,
      targets: { total: run?.session.targets.length ?? 0, implanted },
      refusalsInRow: loop?.refusalsInRow ?? 0,
      stopLatched: this.latch.latched,
      faults: this.configured === undefined ? [] : this.faults.watch.status(),
      possible:
        run === undefined || run.finished
          ? ["start", "plan", "stop", ...(this.latch.latched ? ["reset"] : [])]
          : [...(loop?.possible ?? [])],
      devices: this.configured?.devices.status() ?? [],
      recording: run?.recording.folder ?? null,
    };
  }

  async stop(reason: string, who: string): Promise<Done> {
    if (who === "daemon") this.memory.daemonStops();
    const run = this.run;
    if (run !== undefined && !run.finished) await run.loop.stop(reason, who);
    else {
      this.latch.engage(reason, this.context.clock.now());
      await this.halt(reason);
    }
    // Answered once the latch would outlive a crash; the motion has ended before.
    await this.memory.kept();
    return { detail: "all motion stopped and latched; a person must reset" };
  }

  /** Ends all motion now, whatever is believed. */
  private async halt(reason: string): Promise<void> {
    this.configured?.servo.stop();
    this.configured?.devices.stop();
    this.context.log.warn({ reason }, "stop");
    await Promise.resolve();
  }

  async plan(request: PlanRequest, signal: AbortSignal): Promise<PlanAnswer> {
    const query = request.query ?? "";
    const run = await this.begin("plan", query, [], {});
    const result = await run.done;
    if (result.outcome !== "completed")
      throw new CellError("SKILL_FAILED", `no usable images: ${result.reason}`, {
        remedy: "see `surgiclaw status` and the recording, then plan again",
      });
    const createdAt = new Date().toISOString();
    const procedure = await this.audited("plan-picks", { targets: request.targets, query }, (keep) =>
      proposeTargets(this.bench(run.session, keep), signal, {
        count: request.targets,
        id: `procedure-${createdAt.replaceAll(/[:.]/g, "-")}`,
        cell: this.loaded.config.cell.id,
        query,
        createdAt,
      }),
    );
    await saveProcedure(request.file, procedure);
    return {
      file: request.file,
      targets: procedure.targets.length,
      detail: `${procedure.targets.length} targets written to ${request.file}`,
    };
  }

  /** Work that a person asked for beside a procedure, and that moves something: on disk before it moves, and when it ended. */
  private async audited<T>(
    name: string,
    request: object,
    work: (keep: (frame: FrameLease, label: string) => void) => Promise<T>,
  ): Promise<T> {
    const recording = await this.recordings.create(name, this.loaded, {});
    try {
      await recording.audit.append(`operator:${by}`, "cell.motion.start", { name, ...request });
      return await work((frame, label) => void recording.frames.store(frame, label, 0));
    } finally {
      await recording.audit.append("cell", "cell.motion.end", { name }).catch(() => undefined);
      await recording.close().catch(() => undefined);
    }
  }

  async start(request: StartRequest): Promise<StartAnswer> {
    const procedure = await loadProcedure(request.procedure, this.loaded.config.cell.id);
    const text = await readFile(request.procedure, "utf8");
    const query = request.query === "" ? procedure.query : request.query;
    const run = await this.begin(procedure.id, query, procedure.targets, { "procedure.yaml": text });
    return {
      recording: run.recording.folder,
      targets: procedure.targets.length,
      detail: `procedure ${procedure.id} runs`,
    };
  }

  async reset(): Promise<Done> {
    const { devices } = this.need();
    await devices.reset(AbortSignal.timeout(30_000));
    const run = this.run;
    // Whoever resets has looked at the needle; the next registration looks for its hook again.
    if (run?.session.needleIntact === false) run.session.needleIntact = "unknown";
    if (run !== undefined && !run.finished) await run.loop.reset(by);
    else {
      const state = devices.arm.robot.state();
      const { stopNumber } = this.latch.state;
      const result = this.latch.reset(
        { stopNumber, by },
        {
          stopReleased: !state.emergencyStopped && !state.protectiveStopped,
          selfCheckOk: this.faults.watch.obstacles().length === 0,
        },
      );
      if (!result.cleared) throw new CellError("COMMAND_INVALID", `not reset: ${result.why}`);
    }
    return { detail: "the latch is cleared; nothing moves until you say what follows" };
  }

  async confirm(): Promise<Done> {
    return this.loopDoes((loop) => loop.confirm(by), "the suggested skill goes through the gate");
  }

  async retry(): Promise<Done> {
    return this.loopDoes((loop) => loop.retry(by), "the cell is observed again");
  }

  async choose(skill: SkillName): Promise<Done> {
    return this.loopDoes((loop) => loop.choose(skill, by), `${skill} goes through the gate`);
  }

  async takeover(who: string): Promise<Done> {
    return this.loopDoes((loop) => loop.takeover(who), "the cell is yours until handback");
  }

  async handback(): Promise<Done> {
    return this.loopDoes((loop) => loop.handback(by), "the cell is observed anew");
  }

  /**
   * Searches origins in the order that is safe for the tissue: Z away from it first, then focus, X, Y, tilts; the needle
   * drive, which finds its own withdrawn, last. Never while the needle may be in tissue.
   */
  async home(): Promise<Done> {
    if (this.run !== undefined && !this.run.finished)
      throw new CellError("COMMAND_INVALID", "a procedure runs: home between procedures");
    if (this.latch.latched)
      throw new CellError("SAFETY_STOPPED", `a stop is latched: ${this.latch.state.reason}`);
    if (this.run?.session.needleInTissue === true)
      throw new CellError(
        "SAFETY_ENVELOPE",
        "the needle may be in tissue: withdraw it before anything is homed",
      );
    const { devices, file } = this.need();
    const { x, y, z, tiltX, tiltY, focus1, focus2 } = file.stageAxes;
    const order = [z, focus1, focus2, x, y, tiltX, tiltY].filter((axis) => !devices.stages.homed(axis));
    const signal = AbortSignal.timeout(230_000);
    await this.audited("home", { axes: order, needle: !devices.needle.homed }, async () => {
      for (const axis of order) {
        devices.guardian.assertAlive();
        await devices.stages.home(axis, signal);
      }
      if (!devices.needle.homed) await devices.needle.home(signal);
    });
    this.run?.session.clearRegistration();
    this.run?.session.advanceEpoch();
    return {
      detail: order.length > 0 ? `axes ${order.join(", ")} found their origin` : "every axis had its origin",
    };
  }

  /** An operator goes on in spite of a fault whose rule permits it, until it is gone. */
  async override(fault: string): Promise<Done> {
    this.faults.watch.override(fault);
    this.context.log.warn({ fault }, "overridden by the operator");
    const run = this.run;
    if (run !== undefined && !run.finished)
      await run.recording.audit.append(`operator:${by}`, "fault.overridden", { id: fault });
    return { detail: `${fault} is overridden until it is gone` };
  }

  private async loopDoes(
    command: (loop: DecisionLoop) => void | Promise<void>,
    detail: string,
  ): Promise<Done> {
    const run = this.run;
    if (run === undefined || run.finished) throw new CellError("COMMAND_INVALID", "no procedure runs");
    await command(run.loop);
    return { detail };
  }

  // A run ------------------------------------------------------------------------------------------------------------

  /** Begins a run; without targets its end is reached when the images are usable. */
  private async begin(
    name: string,
    query: string,
    targets: readonly ProcedureTarget[],
    inputs: Readonly<Record<string, string>>,
  ): Promise<Run> {
    if (this.run !== undefined && !this.run.finished)
      throw new CellError("COMMAND_INVALID", "a procedure runs already: stop it first");
    if (this.latch.latched)
      throw new CellError("SAFETY_STOPPED", `a stop is latched: ${this.latch.state.reason}`);
    const { clock, log } = this.context;
    const { devices, file, reasoner, servo } = this.need();
    const { geometry } = cellAddon();
    const previous = this.run?.session;
    const session = new Session(targets, file.cartridge.loops);
    // What earlier runs of this daemon established about needle, focus and loops is still so.
    if (previous !== undefined) session.inherit(previous);
    let cycleNow = 0;
    const bench = this.bench(session, (frame, label) => void recording.frames.store(frame, label, cycleNow));
    const recording = await this.recordings.create(name, this.loaded, inputs);
    let lastUsable = false;
    const observer = new Observer({
      devices,
      geometry,
      clock,
      query,
      session,
      bench,
      perceptionLimits: defaultPerceptionLimits,
      stopLatched: () => this.latch.latched,
      selfCheckFaults: () => this.faults.watch.obstacles(),
      nearSingularity: (q) => this.nearSingularity(q),
      keep: (frame, observationId, cycle) => void recording.frames.store(frame, observationId, cycle),
      withImages: reasoner.name !== "rules",
    });
    const progress = this.context.progress.register("decision loop");
    const ports: LoopPorts = {
      clock,
      reasoner,
      skills: makeSkills({
        bench: () => bench,
        runServo: (request, signal) => servo.run(request, signal),
        dh: devices.geometry,
        latch: (why) => void this.latch.engage(why, clock.now()),
        selfCheck: () => Promise.resolve(this.faults.watch.obstacles()),
      }),
      audit: recording.audit,
      latch: this.latch,
      observe: async (cycle, signal) => {
        progress.advance();
        cycleNow = cycle;
        const capture = await observer.observe(cycle, signal);
        lastUsable = capture.observation.visual.usable === true;
        return capture;
      },
      readState: () => {
        progress.advance();
        return Promise.resolve(observer.readState());
      },
      stop: (reason) => this.halt(reason),
      isTerminal: (state) =>
        targets.length === 0 ? this.isReadyToPlan(state, lastUsable) : isImplanted(state),
      goal:
        targets.length === 0
          ? "both views are usable: targets can be picked"
          : "all targets are implanted and the needle is withdrawn",
      emit: (event) => this.context.publish(asCellEvent(event, () => this.status())),
    };
    const loop = new DecisionLoop(ports, loopOptions(this.loaded.config, targets.length === 0));
    const ending = new AbortController();
    const done = loop.run(ending.signal).then(async (result) => {
      await this.conclude(run, result);
      progress.unregister();
      return result;
    });
    const run: Run = { loop, session, recording, query, ending, done, finished: false };
    this.run = run;
    done.catch((error: unknown) => {
      log.error({ error: asCellError(error).message }, "the run ended badly");
      run.finished = true;
    });
    return run;
  }

  private async conclude(run: Run, result: LoopResult): Promise<void> {
    const { counts } = result;
    await run.recording
      .writeSummary({ outcome: result.outcome, state: result.state, reason: result.reason, counts })
      .catch((error: unknown) => this.context.log.error({ error: asCellError(error).message }, "no summary"));
    await run.recording
      .close()
      .catch((error: unknown) => this.context.log.error({ error: asCellError(error).message }, "recording"));
    run.finished = true;
    this.context.publish({ topic: "state", event: this.status() });
  }

  private bench(session: Session, keep: (frame: FrameLease, label: string) => void): Workbench {
    const { devices, file, calibration } = this.need();
    return new Workbench(
      {
        file,
        tree: new FrameTree(file.frames),
        edges: calibratedEdges(calibration),
        devices,
        geometry: cellAddon().geometry,
        clock: this.context.clock,
        keep,
        tellGuardian: (inTissue) => devices.guardian.setNeedle(inTissue, devices.needle.microsteps(0)),
        assertMayMove: () => {
          devices.guardian.assertAlive();
          if (this.latch.latched)
            throw new CellError("SAFETY_STOPPED", `a stop is latched: ${this.latch.state.reason}`);
        },
      },
      session,
    );
  }

  private nearSingularity(q: readonly number[]): boolean {
    const { devices } = this.need();
    this.singular = singularityLevel(singularityMeasures(devices.geometry, joints(q)), this.singular);
    return this.singular !== "clear";
  }

  private isReadyToPlan(state: CellState, usable: boolean): boolean {
    return (
      usable &&
      state.nearSingularity === false &&
      Object.values(state.camerasOnline).every((online) => online === true)
    );
  }

  private need(): Configured {
    if (this.configured === undefined) throw new CellError("COMMAND_INVALID", "the cell is not configured");
    return this.configured;
  }
}

/** All targets implanted, electrode released, needle withdrawn, axes still. */
const isImplanted = (state: CellState): boolean =>
  state.targetsLeft === 0 &&
  state.needleOutOfTissue === true &&
  state.electrodeLoaded === false &&
  state.still === true;
