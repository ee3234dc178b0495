/**
 * The cell of this daemon: devices, session, skills, loop and recording brought together. The daemon decides when; this
 * knows what. Everything that may move goes through the loop's gate or is entered in the audit log before it moves.
 */
import { mkdir, readFile } from "node:fs/promises";
import type { LoadedConfig } from "../../base/config.js";
import { CellError } from "../../base/errors.js";
import type { DecisionLoop } from "../../agent/loop/decision-loop.js";
import { loadProcedure, saveProcedure } from "../../agent/procedure/procedure-file.js";
import type { SkillName } from "../../agent/safety/skill-names.js";
import { StopLatch } from "../../agent/safety/stop-latch.js";
import { proposeTargets } from "../../agent/skills/planner.js";
import type { CellStatus } from "../command/protocol.js";
import type { Done, PlanAnswer, PlanRequest, StartAnswer, StartRequest } from "../command/service.js";
import type { Cell, CellContext, SelfCheckItem } from "./cell.js";
import { CellFaults } from "./cell-faults.js";
import { assertNotLatched, ConfiguredCell } from "./configured-cell.js";
import { assertOutOfTissue, axesToHome, homeAxes } from "./homing.js";
import { LatchKeeper } from "./latch-memory.js";
import { ProcedureRun, type RunRequest } from "./procedure-run.js";
import { Recordings } from "./recordings.js";

const by = "operator";

export class RobotCell implements Cell {
  private configured: ConfiguredCell | undefined;
  private readonly latch = new StopLatch();
  private run: ProcedureRun | undefined;
  /** A recording is being made for a run that is about to begin. */
  private beginning = false;
  private active = false;
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
      audit: () => this.running()?.recording.audit,
      stop: (why) => void this.stop(why, "fault arbiter"),
    });
    this.memory = new LatchKeeper(this.latch, context);
    this.recordings = new Recordings(context);
  }

  // Lifecycle --------------------------------------------------------------------------------------------------------

  async configure(signal: AbortSignal): Promise<void> {
    const { config } = this.loaded;
    await mkdir(config.record.folder, { recursive: true });
    await this.recordings.open(config);
    const configured = await ConfiguredCell.open(config, this.context.log, signal);
    this.loss = new Promise((resolve) => {
      this.lose = resolve;
    });
    configured.devices.guardian.onChange = (status) => {
      if (status.alive) return;
      void this.halt(`guardian: ${status.reason}`);
      // One that acted on silence watches again after a person's reset; one that is gone needs a new start.
      if (status.report?.triggered !== true) this.lose(`the guardian is gone: ${status.reason}`);
    };
    this.configured = configured;
    await this.memory.open(config.record.folder);
    await this.faults.start();
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
    await this.running()?.end(new CellError("LINK_ABORTED", "the daemon ends"));
    this.active = false;
    this.faults.end();
    await this.memory.endOfStop();
    const configured = this.configured;
    this.configured = undefined;
    await configured?.close();
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
    const run = this.running();
    if (run !== undefined) await run.loop.stop(reason, who);
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
    this.configured?.stop();
    this.context.log.warn({ reason }, "stop");
    await Promise.resolve();
  }

  async plan(request: PlanRequest, signal: AbortSignal): Promise<PlanAnswer> {
    const query = request.query ?? "";
    const run = await this.begin({ name: "plan", query, targets: [], inputs: {} });
    const result = await run.done;
    if (result.outcome !== "completed")
      throw new CellError("SKILL_FAILED", `no usable images: ${result.reason}`, {
        remedy: "see `surgiclaw status` and the recording, then plan again",
      });
    const createdAt = new Date().toISOString();
    const procedure = await this.recordings.around(
      "plan-picks",
      by,
      this.loaded,
      { targets: request.targets, query },
      (keep) =>
        proposeTargets(this.need().bench(run.session, this.latch, this.context.clock, keep), signal, {
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

  async start(request: StartRequest): Promise<StartAnswer> {
    const procedure = await loadProcedure(request.procedure, this.loaded.config.cell.id);
    const text = await readFile(request.procedure, "utf8");
    const query = request.query === "" ? procedure.query : request.query;
    const { id: name, targets } = procedure;
    const run = await this.begin({ name, query, targets, inputs: { "procedure.yaml": text } });
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

  /** Searches origins, in an order safe for the tissue; never while the needle may be in it. */
  async home(): Promise<Done> {
    if (this.beginning || this.running() !== undefined)
      throw new CellError("COMMAND_INVALID", "a procedure runs: home between procedures");
    assertNotLatched(this.latch);
    assertOutOfTissue(this.run?.session.needleInTissue);
    const cell = this.need();
    const axes = axesToHome(cell);
    const needle = !cell.devices.needle.homed;
    await this.recordings.around("home", by, this.loaded, { axes, needle }, () =>
      homeAxes(cell, axes, AbortSignal.timeout(230_000)),
    );
    this.run?.session.clearRegistration();
    this.run?.session.advanceEpoch();
    return {
      detail: axes.length > 0 ? `axes ${axes.join(", ")} found their origin` : "every axis had its origin",
    };
  }

  /** An operator goes on in spite of a fault whose rule permits it, until it is gone. */
  async override(fault: string): Promise<Done> {
    this.faults.watch.override(fault);
    this.context.log.warn({ fault }, "overridden by the operator");
    await this.running()?.recording.audit.append(`operator:${by}`, "fault.overridden", { id: fault });
    return { detail: `${fault} is overridden until it is gone` };
  }

  private async loopDoes(
    command: (loop: DecisionLoop) => void | Promise<void>,
    detail: string,
  ): Promise<Done> {
    const run = this.running();
    if (run === undefined) throw new CellError("COMMAND_INVALID", "no procedure runs");
    await command(run.loop);
    return { detail };
  }

  private running(): ProcedureRun | undefined {
    return this.run?.finished === false ? this.run : undefined;
  }

  private async begin(request: RunRequest): Promise<ProcedureRun> {
    if (this.beginning || this.running() !== undefined)
      throw new CellError("COMMAND_INVALID", "a procedure runs already: stop it first");
    assertNotLatched(this.latch);
    const { context, loaded, latch, recordings } = this;
    const surroundings = {
      context,
      loaded,
      cell: this.need(),
      latch,
      faults: this.faults.watch,
      recordings,
      previous: this.run?.session,
      halt: (reason: string) => this.halt(reason),
      status: () => this.status(),
    };
    this.beginning = true;
    try {
      this.run = await ProcedureRun.prepare(surroundings, request);
    } finally {
      this.beginning = false;
    }
    this.run.go();
    return this.run;
  }

  private need(): ConfiguredCell {
    if (this.configured === undefined) throw new CellError("COMMAND_INVALID", "the cell is not configured");
    return this.configured;
  }
}
