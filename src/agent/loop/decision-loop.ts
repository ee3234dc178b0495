/**
 * The cycle of the cell: observe → reason → parse → gate → record → execute → observe. One observation carries at most
 * one decision and there is no dialogue history. Nothing moves before its decision is on disk. After refusals in a row,
 * without progress, or after a stop the loop waits for a person, whose choice goes through the same gate. Whatever is
 * unexpected ends in a stop first and an explanation afterwards; nothing resumes by itself.
 */
import { withDeadline } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import { and, not, tri } from "../safety/conditions.js";
import { Skill, type SkillName } from "../safety/skill-names.js";
import type { CellState, Observation, Proposal, Reason } from "../safety/types.js";
import { ask } from "./ask.js";
import { CallBox } from "./call-box.js";
import { decisionAction } from "./decision-record.js";
import {
  possibleCommands,
  type LoopResult,
  type LoopState,
  type LoopStatus,
  type OperatorCommand,
} from "./events.js";
import { execute } from "./execution.js";
import { readFreshState, takeObservation } from "./look.js";
import { cycleEvent, judgeCandidate, stopReason, type Candidate, type Judgement } from "./judgement.js";
import type { Capture, LoopOptions, LoopPorts } from "./ports.js";
import { ProgressWatch } from "./progress-watch.js";
import { Tally, type LoopCounts } from "./tally.js";

/** A person's choice on its way through the gate. */
interface Chosen {
  readonly skill: SkillName;
  readonly by: string;
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
  /** The observation that carries a decision already. */
  private decidedId: string | undefined;
  private readonly calls = new CallBox();
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
      this.calls.ring();
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
    // On disk first: a reset that cannot be recorded clears nothing.
    await this.ports.audit.append(`operator:${by}`, "operator.reset", { stopNumber, reason });
    const result = this.ports.latch.reset(
      { stopNumber, by },
      {
        stopReleased: and(not(tri(state.emergencyStop)), not(tri(state.protectiveStop))),
        selfCheckOk: tri(state.selfCheckOk),
      },
    );
    if (!result.cleared) throw new CellError("COMMAND_INVALID", `not reset: ${result.why}`);
    this.enter("waiting_operator", `reset by ${by} after: ${this.reason}`);
    this.calls.ring();
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
    this.calls.ring();
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
          if (!(await this.calls.rungWithin(this.options.operatorWaitS, this.ports.clock)))
            return this.result("operator");
          break;
        case "takeover":
          await this.calls.rung();
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
      capture = await takeObservation(this.ports, this.options, this.cycle, interrupted);
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
    const freshState = await readFreshState(this.ports, this.options);
    if (interrupted.aborted) return;
    await this.judgeAndAct(candidate, observation, freshState, interrupted);
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
    const judgement = this.judge(candidate, observation, freshState, this.decidedId === observation.id);
    this.decidedId = observation.id;
    const { verdict, allowed, reasons, record } = judgement;
    if (verdict !== undefined) this.tally.judged(verdict);
    this.tally.cycles++;
    this.refusalsInRow = record.refusalsInRow;
    await this.ports.audit.append("loop", decisionAction, record);
    this.ports.emit(cycleEvent(judgement, this.ports.clock.now()));
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
    const answer = candidate.proposal?.answer ?? "";
    const why = verdict.skill === Skill.stop ? stopReason(answer, freshState) : answer;
    await this.carryOut(verdict.skill, observation, record.decisionId, why, interrupted);
  }

  private judge(
    candidate: Candidate,
    observation: Observation,
    freshState: CellState | undefined,
    alreadyDecided: boolean,
  ): Judgement {
    return judgeCandidate({
      candidate,
      observation,
      freshState,
      limits: this.options.limits,
      judgedAtS: this.ports.clock.now(),
      cycle: this.cycle,
      reasoner: this.ports.reasoner.name,
      refusalsInRow: this.refusalsInRow,
      alreadyDecided,
    });
  }

  private async carryOut(
    skill: SkillName,
    observation: Observation,
    decisionId: string,
    why: string,
    interrupted: AbortSignal,
  ): Promise<void> {
    this.suggestion = undefined;
    const running = (program: SkillName | undefined): void => {
      if (program !== undefined) this.tally.skillsRun++;
      this.running = program;
    };
    const given = { skill, observation, decisionId, cycle: this.cycle, why, interrupted, running };
    const end = await execute(given, this.ports, this.options);
    if (end.withheld) {
      if (!interrupted.aborted) this.enter("stopped", this.ports.latch.state.reason);
      return;
    }
    const { outcome, defect } = end;
    this.progress.ended(outcome);
    if (outcome.status !== "succeeded") this.tally.skillsFailed++;
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
    const freshState = await readFreshState(this.ports, this.options);
    if (freshState === undefined) {
      await this.latchStop(error.message);
      return;
    }
    // The stop takes the place of the decision that leads nowhere, on the same observation.
    const judgement = this.judge({ source: "loop", proposal, reasons: [] }, observation, freshState, false);
    const { record, allowed } = judgement;
    await this.ports.audit.append("loop", decisionAction, record);
    this.ports.emit(cycleEvent(judgement, this.ports.clock.now()));
    if (allowed) await this.carryOut(Skill.stop, observation, record.decisionId, error.message, interrupted);
    else await this.latchStop(error.message);
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
    this.calls.ring();
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

  private result(outcome: LoopResult["outcome"]): LoopResult {
    return { outcome, state: this.state, reason: this.reason, counts: this.tally.counts() };
  }
}
