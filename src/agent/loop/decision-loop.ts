/**
 * The cycle of the cell: observe → reason → parse → gate → record → execute → observe. One observation carries at most
 * one decision and there is no dialogue history. Nothing moves before its decision is on disk. After refusals in a row,
 * without progress, or after a stop the loop waits for a person, whose choice goes through the same gate. Whatever is
 * unexpected ends in a stop first and an explanation afterwards; nothing resumes by itself.
 */
import { randomUUID } from "node:crypto";
import { asCellError, CellError } from "../../base/errors.js";
import { withDeadline } from "../../base/clock.js";
import { and, not, tri } from "../safety/conditions.js";
import { judge, type Verdict } from "../safety/gate.js";
import { Skill, type SkillName } from "../safety/skill-names.js";
import type { CellState, Observation, Proposal, Reason } from "../safety/types.js";
import type { Reply } from "../reasoners/reasoner.js";
import { ask } from "./ask.js";
import { decisionAction, decisionRecord, skillEndAction, skillStartAction } from "./decision-record.js";
import {
  possibleCommands,
  rationaleNote,
  type DecisionSource,
  type LoopState,
  type OperatorCommand,
} from "./events.js";
import { runGuarded, type GuardedEnd } from "./guarded-run.js";
import type { Capture, LoopOptions, LoopPorts } from "./ports.js";
import { ProgressWatch } from "./progress-watch.js";
import { Tally, type LoopCounts } from "./tally.js";

export interface LoopStatus {
  readonly state: LoopState;
  readonly reason: string;
  readonly cycle: number;
  readonly refusalsInRow: number;
  readonly suggestion: SkillName | null;
  readonly possible: readonly OperatorCommand[];
  readonly running: SkillName | null;
}

export interface LoopResult {
  /** `operator`: nobody came within the configured time; `aborted`: the caller ended it. */
  readonly outcome: "completed" | "operator" | "failed" | "aborted";
  readonly state: LoopState;
  readonly reason: string;
  readonly counts: LoopCounts;
}

/** A person's choice on its way through the gate. */
interface Chosen {
  readonly skill: SkillName;
  readonly by: string;
}

/** What is put before the gate, and where it came from. */
interface Candidate {
  readonly source: DecisionSource;
  readonly by?: string;
  readonly reply?: Reply;
  readonly proposal?: Proposal;
  readonly reasons: readonly Reason[];
}

export class DecisionLoop {
  private state: LoopState = "idle";
  private reason = "";
  private cycle = 0;
  private refusalsInRow = 0;
  private suggestion: SkillName | undefined;
  private chosen: Chosen | undefined;
  private running: SkillName | undefined;
  private interrupt = new AbortController();
  private wake: (() => void) | undefined;
  private readonly tally = new Tally();
  private readonly progress: ProgressWatch;

  constructor(
    private readonly ports: LoopPorts,
    private readonly options: LoopOptions,
  ) {
    this.progress = new ProgressWatch(options.progress);
  }

  status(): LoopStatus {
    return {
      state: this.state,
      reason: this.reason,
      cycle: this.cycle,
      refusalsInRow: this.refusalsInRow,
      suggestion: this.suggestion ?? null,
      possible: possibleCommands[this.state],
      running: this.running ?? null,
    };
  }

  counts(): LoopCounts {
    return this.tally.counts();
  }

  /** Runs until the procedure is complete, fails, is aborted, or waits for an operator longer than configured. Once. */
  async run(signal: AbortSignal): Promise<LoopResult> {
    if (this.state !== "idle") throw new CellError("COMMAND_INVALID", `the loop is ${this.state} already`);
    const onAbort = (): void => {
      this.breakOff("the procedure was ended by its caller");
      this.wake?.();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      this.enter("running", "the procedure has begun");
      return await this.turns(signal);
    } catch (error) {
      return await this.fail(error);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  // Commands of people. Each says at once whether it fits; what follows from it comes as events.

  /** Ends all motion and latches; possible in every state, waits for nothing but the stop itself. */
  async stop(reason: string, by: string): Promise<void> {
    const stopping = this.ports.stop(reason);
    this.ports.latch.engage(reason, this.ports.clock.now());
    this.tally.stops++;
    // A stop of what is stopped already, or waits for a person, must not hide why.
    const before = this.state === "waiting_operator" ? `; before that: ${this.reason}` : "";
    if (!this.ended() && this.state !== "stopped")
      this.enter("stopped", `stopped by ${by}: ${reason}${before}`);
    this.breakOff(reason, false);
    this.note(by, "operator.stop", { reason });
    await stopping;
  }

  /** Clears the latch; ends in waiting for the operator's next word, never in motion. */
  async reset(by: string): Promise<void> {
    this.require("reset");
    const { stopNumber, reason } = this.ports.latch.state;
    const state = await this.ports.readState();
    const result = this.ports.latch.reset(
      { stopNumber, by },
      {
        stopReleased: and(not(tri(state.emergencyStop)), not(tri(state.protectiveStop))),
        selfCheckOk: tri(state.selfCheckOk),
      },
    );
    if (!result.cleared) throw new CellError("COMMAND_INVALID", `not reset: ${result.why}`);
    await this.ports.audit.append(`operator:${by}`, "operator.reset", { stopNumber, reason });
    this.enter("waiting_operator", `reset by ${by} after: ${this.reason}`);
    this.wake?.();
  }

  /** Runs the suggested skill through the gate, on a fresh observation. */
  confirm(by: string): void {
    this.require("confirm");
    if (this.suggestion === undefined) {
      throw new CellError("COMMAND_INVALID", "no skill waits for a confirmation; retry, or choose one");
    }
    this.go(
      { skill: this.suggestion, by },
      `${this.suggestion} was confirmed by ${by}`,
      by,
      "operator.confirm",
    );
  }

  /** Observes again and asks the reasoner again. */
  retry(by: string): void {
    this.require("retry");
    this.go(undefined, `${by} asked for another attempt`, by, "operator.retry");
  }

  /** Runs a skill of the operator's choice through the gate, on a fresh observation. */
  choose(skill: SkillName, by: string): void {
    this.require("choose");
    this.go({ skill, by }, `${skill} was chosen by ${by}`, by, "operator.choose");
  }

  /** Ends motion and decisions; the cell is the operator's until handback. */
  async takeover(by: string): Promise<void> {
    this.require("takeover");
    const stopping = this.ports.stop(`taken over by ${by}`);
    this.tally.takeovers++;
    this.enter("takeover", `taken over by ${by}`);
    this.breakOff(`taken over by ${by}`, false);
    this.note(by, "operator.takeover", {});
    await stopping;
  }

  /** Plans are dropped: the cell is observed anew. */
  handback(by: string): void {
    this.require("handback");
    this.go(undefined, `handed back by ${by}`, by, "operator.handback");
  }

  private go(chosen: Chosen | undefined, reason: string, by: string, action: string): void {
    this.chosen = chosen;
    this.suggestion = undefined;
    this.refusalsInRow = 0;
    this.progress.forgive();
    this.note(by, action, { skill: chosen?.skill ?? null });
    this.enter("running", reason);
    this.wake?.();
  }

  private require(command: OperatorCommand): void {
    const possible = possibleCommands[this.state];
    if (possible.includes(command)) return;
    throw new CellError(
      "COMMAND_INVALID",
      `${command} does not fit the state ${this.state}; possible: ${possible.join(", ")}`,
    );
  }

  /** A command of a person in the record. It moves nothing itself; the decision that follows is entered on its own. */
  private note(by: string, action: string, data: unknown): void {
    this.ports.audit.append(`operator:${by}`, action, data).catch((error: unknown) => {
      this.breakOff(asCellError(error).message);
    });
  }

  private async turns(signal: AbortSignal): Promise<LoopResult> {
    for (;;) {
      if (signal.aborted) {
        await this.stopNow("the procedure was ended by its caller");
        return this.result("aborted");
      }
      this.interrupt = new AbortController();
      switch (this.state) {
        case "running":
          await this.oneCycle();
          break;
        case "waiting_operator":
        case "stopped":
          if (!(await this.personCame())) return this.result("operator");
          break;
        case "takeover":
          await this.wakened();
          break;
        case "completed":
          return this.result("completed");
        case "failed":
          return this.result("failed");
        case "idle":
          throw new CellError("INTERNAL", "the loop fell idle while running");
      }
    }
  }

  private async oneCycle(): Promise<void> {
    const interrupted = this.interrupt.signal;
    this.cycle++;
    let capture: Capture;
    try {
      capture = await this.observe(interrupted);
    } catch (error) {
      if (interrupted.aborted) return;
      await this.unobserved(asCellError(error));
      return;
    }
    try {
      await this.decide(capture, interrupted);
    } catch (error) {
      // A stop, takeover or end that came between: the state says already what follows.
      if (!interrupted.aborted || asCellError(error).category === "software") throw error;
    } finally {
      capture.release();
    }
  }

  private async decide(capture: Capture, interrupted: AbortSignal): Promise<void> {
    const { observation } = capture;
    if (interrupted.aborted) return;
    if (this.ports.isTerminal(observation.state)) {
      await this.ports.audit.append("loop", "procedure.completed", { observation });
      this.enter("completed", this.ports.goal);
      return;
    }
    const candidate = await this.candidate(capture, interrupted);
    const freshState = await this.freshState();
    if (interrupted.aborted) return;
    await this.judgeAndAct(candidate, observation, freshState, interrupted);
  }

  /** Late captures give their leases back. */
  private async observe(interrupted: AbortSignal): Promise<Capture> {
    const capture = this.ports.observe(this.cycle, interrupted);
    try {
      return await withDeadline(capture, this.options.observeLimitS, "an observation");
    } catch (error) {
      capture.then((late) => late.release()).catch(() => undefined);
      throw error;
    }
  }

  /** A link that fails leaves the state unread, which refuses; a defect is thrown. */
  private async freshState(): Promise<CellState | undefined> {
    try {
      return await withDeadline(
        this.ports.readState(),
        this.options.limits.stateAgeS,
        "the state for the gate",
      );
    } catch (error) {
      if (asCellError(error).category === "software") throw error;
      return undefined;
    }
  }

  /** The operator's choice, or what the reasoner says. */
  private async candidate(capture: Capture, interrupted: AbortSignal): Promise<Candidate> {
    const { chosen } = this;
    if (chosen !== undefined) {
      this.chosen = undefined;
      const proposal: Proposal = {
        skill: chosen.skill,
        rationale: `${chosen.by} looked at the cell.`,
        answer: `${chosen.by} chose ${chosen.skill}.`,
      };
      return { source: "operator", by: chosen.by, proposal, reasons: [] };
    }
    const { reasonerBudgetS, limits } = this.options;
    const { reasoner, clock } = this.ports;
    const answer = await ask(reasoner, capture, reasonerBudgetS, limits, clock, interrupted);
    return { source: "reasoner", ...answer };
  }

  private async judgeAndAct(
    candidate: Candidate,
    observation: Observation,
    freshState: CellState | undefined,
    interrupted: AbortSignal,
  ): Promise<void> {
    const { proposal } = candidate;
    const judgedAtS = this.ports.clock.now();
    const verdict =
      proposal === undefined || freshState === undefined
        ? undefined
        : judge(judgedAtS, proposal, observation, freshState, this.options.limits);
    const unread: Reason[] =
      freshState === undefined ? [{ code: "stale", detail: "the cell state cannot be read" }] : [];
    const reasons = [...candidate.reasons, ...unread, ...(verdict?.reasons ?? [])];
    const allowed = reasons.length === 0 && verdict?.allowed === true;
    if (verdict !== undefined) this.tally.judged(verdict);
    this.tally.cycles++;
    this.refusalsInRow = allowed ? 0 : this.refusalsInRow + 1;
    const decisionId = `decision-${randomUUID()}`;
    const record = decisionRecord({
      ...candidate,
      decisionId,
      cycle: this.cycle,
      reasoner: this.ports.reasoner.name,
      observation,
      judgedAtS,
      ...(freshState === undefined ? {} : { freshState }),
      limits: this.options.limits,
      ...(verdict === undefined ? {} : { verdict }),
      reasons,
      refusalsInRow: this.refusalsInRow,
    });
    await this.ports.audit.append("loop", decisionAction, record);
    this.emitCycle(candidate, observation, verdict, reasons, allowed);
    if (interrupted.aborted) return;
    if (!allowed || verdict === undefined || freshState === undefined) {
      await this.refused(candidate, reasons);
      return;
    }
    const obstacle = this.progress.obstacle(verdict.skill, verdict.conditions, freshState.targetsLeft);
    if (obstacle !== undefined) {
      await this.withoutProgress(obstacle, observation, interrupted);
      return;
    }
    const answer = proposal?.answer ?? "";
    const why = verdict.skill === Skill.stop ? stopReason(answer, freshState) : answer;
    await this.execute(verdict.skill, observation, decisionId, why, interrupted);
  }

  private async execute(
    skill: SkillName,
    observation: Observation,
    decisionId: string,
    why: string,
    interrupted: AbortSignal,
  ): Promise<void> {
    const { audit, clock, latch } = this.ports;
    this.suggestion = undefined;
    await audit.append("loop", skillStartAction, { decisionId, skill, observationId: observation.id });
    const withheld = interrupted.aborted || (latch.latched && skill !== Skill.stop);
    if (withheld) {
      await audit.append("loop", skillEndAction, {
        decisionId,
        skill,
        status: "stopped",
        detail: "not begun",
      });
      if (!interrupted.aborted) this.enter("stopped", latch.state.reason);
      return;
    }
    this.tally.skillsRun++;
    this.running = skill;
    const startS = clock.now();
    this.emitSkill(skill, "started", "started", why, {});
    let end: GuardedEnd;
    try {
      const program = this.ports.skills.get(skill);
      const run = { program, observation, decisionId, cycle: this.cycle, interrupted };
      end = await runGuarded(run, this.ports, this.options);
    } finally {
      this.running = undefined;
    }
    const { outcome, defect } = end;
    this.progress.ended(outcome);
    if (outcome.status !== "succeeded") this.tally.skillsFailed++;
    await audit.append("skill", skillEndAction, {
      decisionId,
      skill,
      ...outcome,
      defect: defect?.message ?? null,
      durationS: clock.now() - startS,
    });
    this.emitSkill(skill, "ended", outcome.status, outcome.detail, outcome.measurements ?? {});
    if (defect !== undefined) {
      await this.latchStop(`${skill} broke: ${defect.message}`);
    } else if (skill === Skill.stop) {
      await this.latchStop(why, outcome.status === "succeeded");
    }
  }

  /** The same cell again and again: stop it by a decision of our own, and ask a person. */
  private async withoutProgress(
    obstacle: string,
    observation: Observation,
    interrupted: AbortSignal,
  ): Promise<void> {
    const error = new CellError("NO_PROGRESS", obstacle);
    const proposal: Proposal = { skill: Skill.stop, rationale: obstacle, answer: error.message };
    const freshState = await this.freshState();
    if (freshState === undefined) {
      await this.latchStop(error.message);
      return;
    }
    const judgedAtS = this.ports.clock.now();
    const verdict = judge(judgedAtS, proposal, observation, freshState, this.options.limits);
    const decisionId = `decision-${randomUUID()}`;
    const candidate: Candidate = { source: "loop", proposal, reasons: [] };
    const record = decisionRecord({
      ...candidate,
      decisionId,
      cycle: this.cycle,
      reasoner: this.ports.reasoner.name,
      observation,
      judgedAtS,
      freshState,
      limits: this.options.limits,
      verdict,
      reasons: verdict.reasons,
      refusalsInRow: this.refusalsInRow,
    });
    await this.ports.audit.append("loop", decisionAction, record);
    this.emitCycle(candidate, observation, verdict, verdict.reasons, verdict.allowed);
    if (verdict.allowed) {
      await this.execute(Skill.stop, observation, decisionId, error.message, interrupted);
    } else {
      await this.latchStop(error.message);
    }
  }

  private async refused(candidate: Candidate, reasons: readonly Reason[]): Promise<void> {
    this.tally.refuse(reasons);
    this.suggestion = candidate.proposal?.skill ?? this.suggestion;
    const said = reasons.map(({ code, detail }) => `${code} (${detail})`).join("; ");
    if (candidate.source === "operator") {
      this.askPerson(`the choice of ${candidate.by ?? "the operator"} was refused: ${said}`);
    } else if (this.refusalsInRow >= this.options.refusalBudget) {
      this.askPerson(`${this.refusalsInRow} refusals in a row; the last: ${said}`);
    } else {
      await this.pause();
    }
  }

  /** No observation at all counts like a refusal: look again, then ask a person. */
  private async unobserved(error: CellError): Promise<void> {
    if (error.category === "software") throw error;
    this.refusalsInRow++;
    this.tally.cycles++;
    this.tally.refuse([{ code: "transport", detail: error.message }]);
    await this.ports.audit.append("loop", "observation.failed", {
      cycle: this.cycle,
      code: error.code,
      detail: error.detail,
      refusalsInRow: this.refusalsInRow,
    });
    if (this.refusalsInRow >= this.options.refusalBudget) {
      this.askPerson(`no observation ${this.refusalsInRow} times in a row; the last: ${error.message}`);
    } else {
      await this.pause();
    }
  }

  private pause(): Promise<void> {
    return this.ports.clock.sleep(this.options.refusalPauseS, this.interrupt.signal).catch(() => undefined);
  }

  private askPerson(reason: string): void {
    if (this.state !== "running") return;
    this.tally.confirmations++;
    this.enter("waiting_operator", reason);
    this.ports.audit
      .append("loop", "operator.asked", { reason, suggestion: this.suggestion ?? null })
      .catch((error: unknown) => {
        this.breakOff(asCellError(error).message);
      });
  }

  /** Latched: a person has to look, reset and say what follows. */
  private async latchStop(reason: string, atRest = false): Promise<void> {
    const stopNumber = this.ports.latch.engage(reason, this.ports.clock.now());
    this.tally.stops++;
    this.tally.confirmations++;
    if (!atRest) await this.stopNow(reason);
    if (!this.ended()) this.enter("stopped", reason);
    await this.ports.audit.append("loop", "stop.latched", { reason, stopNumber, atRest });
  }

  private async stopNow(reason: string): Promise<void> {
    await withDeadline(this.ports.stop(reason), this.options.stopLimitS, "the stop").catch(() => undefined);
  }

  /** Ends what is under way in this turn; motion first unless it was stopped already. */
  private breakOff(reason: string, andStop = true): void {
    if (andStop) this.ports.stop(reason).catch(() => undefined);
    this.interrupt.abort(new CellError("SAFETY_STOPPED", reason));
    this.wake?.();
  }

  private async fail(error: unknown): Promise<LoopResult> {
    const known = asCellError(error);
    await this.stopNow(known.message);
    this.ports.latch.engage(known.message, this.ports.clock.now());
    this.enter("failed", known.message);
    await this.ports.audit
      .append("loop", "procedure.failed", { code: known.code, detail: known.detail, remedy: known.remedy })
      .catch(() => undefined);
    return this.result("failed");
  }

  /** False when nobody came within the configured time. */
  private async personCame(): Promise<boolean> {
    const { operatorWaitS } = this.options;
    if (operatorWaitS === undefined) {
      await this.wakened();
      return true;
    }
    const enough = new AbortController();
    const late = this.ports.clock
      .sleep(operatorWaitS, enough.signal)
      .then(() => false)
      .catch(() => true);
    const came = await Promise.race([this.wakened().then(() => true), late]);
    enough.abort(new CellError("LINK_ABORTED", "somebody came"));
    return came;
  }

  private wakened(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined;
        resolve();
      };
    });
  }

  private ended(): boolean {
    return this.state === "completed" || this.state === "failed" || this.state === "idle";
  }

  private enter(state: LoopState, reason: string): void {
    this.state = state;
    this.reason = reason;
    this.ports.emit({
      kind: "state",
      atS: this.ports.clock.now(),
      state,
      reason,
      possible: possibleCommands[state],
      suggestion: this.suggestion ?? null,
    });
  }

  private emitCycle(
    candidate: Candidate,
    observation: Observation,
    verdict: Verdict | undefined,
    reasons: readonly Reason[],
    allowed: boolean,
  ): void {
    this.ports.emit({
      kind: "cycle",
      cycle: this.cycle,
      atS: this.ports.clock.now(),
      observationId: observation.id,
      source: candidate.source,
      reasoner: this.ports.reasoner.name,
      rationale: candidate.proposal?.rationale ?? "",
      answer: candidate.proposal?.answer ?? "",
      skill: candidate.proposal?.skill ?? null,
      verdict: allowed ? "allowed" : "refused",
      reasons,
      violations: verdict?.violations ?? [],
      refusalsInRow: this.refusalsInRow,
      note: rationaleNote,
    });
  }

  private emitSkill(
    skill: SkillName,
    phase: "started" | "ended",
    name: string,
    detail: string,
    measurements: Readonly<
      Record<string, number | string | boolean | null | readonly number[] | readonly string[]>
    >,
  ): void {
    this.ports.emit({
      kind: "skill",
      cycle: this.cycle,
      atS: this.ports.clock.now(),
      skill,
      phase,
      name,
      detail,
      measurements,
    });
  }

  private result(outcome: LoopResult["outcome"]): LoopResult {
    return { outcome, state: this.state, reason: this.reason, counts: this.tally.counts() };
  }
}

/** A person who finds the cell stopped is told what was measured, not only what the reasoner answered. */
function stopReason(answer: string, { selfCheckDetail }: CellState): string {
  return selfCheckDetail === undefined || selfCheckDetail === ""
    ? answer
    : `${answer} Self-check: ${selfCheckDetail}.`;
}
