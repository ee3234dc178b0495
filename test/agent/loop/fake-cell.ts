/** A cell in a few lines: skills change its state as the real ones would. Counts what moved and when it was stopped. */
import { systemClock } from "../../../src/base/clock.js";
import { CellError } from "../../../src/base/errors.js";
import { makeObservation } from "../../../src/agent/perception/observation.js";
import { StopLatch } from "../../../src/agent/safety/stop-latch.js";
import { Skill, skillNames, type SkillName } from "../../../src/agent/safety/skill-names.js";
import type { CellState, VisualConditions } from "../../../src/agent/safety/types.js";
import { SkillRegistry } from "../../../src/agent/skills/registry.js";
import type { SkillContext, SkillOutcome } from "../../../src/agent/skills/skill.js";
import { DecisionLoop } from "../../../src/agent/loop/decision-loop.js";
import type { LoopEvent } from "../../../src/agent/loop/events.js";
import { defaultLoopOptions, type LoopOptions, type LoopPorts } from "../../../src/agent/loop/ports.js";
import { rejudgeEntries, type Rejudgement } from "../../../src/agent/loop/rejudge.js";
import { RulesReasoner } from "../../../src/agent/reasoners/rules.js";
import type { Reasoner, Reply } from "../../../src/agent/reasoners/reasoner.js";
import type { Observation } from "../../../src/agent/safety/types.js";
import type { AuditEntry } from "../../../src/record/audit-entry.js";
import { canonicalJson } from "../../../src/record/canonical-json.js";
import { cameras, goodFrames, goodState, goodVisual } from "../fixtures.js";

export type Program = (context: SkillContext, cell: FakeCell) => Promise<SkillOutcome>;

export const done: SkillOutcome = { status: "succeeded", detail: "done" };

const programs: Readonly<Record<SkillName, Program>> = {
  [Skill.exposure]: async (_, cell) => {
    cell.visual = { ...cell.visual, exposureInBand: true };
    return done;
  },
  [Skill.focus]: async (_, cell) => {
    cell.visual = { ...cell.visual, sharp: true, needleVisible: true };
    return done;
  },
  [Skill.recover]: async (_, cell) => {
    cell.advance();
    cell.change({ camerasOnline: { MIC1: true, MIC2: true }, nearSingularity: false });
    return done;
  },
  [Skill.registration]: async (_, cell) => {
    cell.advance();
    cell.change({ registered: true });
    return done;
  },
  [Skill.align]: async (_, cell) => {
    cell.change({ aligned: true, alignedEpoch: cell.state.frameEpoch });
    return done;
  },
  [Skill.insert]: async ({ stage }, cell) => {
    await stage("stroke", { depthM: 1e-3 });
    cell.change({ targetsLeft: Number(cell.state.targetsLeft) - 1 });
    cell.advance();
    return done;
  },
  [Skill.stop]: async () => done,
};

export class FakeCell {
  state: CellState = goodState(0, {
    registered: false,
    aligned: false,
    alignedEpoch: 0,
    nearSingularity: true,
    camerasOnline: { MIC1: true, MIC2: false },
    targetsLeft: 3,
  });
  visual: VisualConditions = goodVisual({
    sharp: "unknown",
    exposureInBand: false,
    needleVisible: "unknown",
  });
  readonly programs: Record<SkillName, Program> = { ...programs };
  readonly latch = new StopLatch();
  readonly entries: AuditEntry[] = [];
  readonly events: LoopEvent[] = [];
  readonly ran: SkillName[] = [];
  stops = 0;
  released = 0;
  observed = 0;
  reasoner: Reasoner = new RulesReasoner();
  /** Set to make the record fail from then on. */
  diskFull = false;
  onObserve: ((cycle: number) => void) | undefined;

  /** Whether devices report by themselves; the listeners of `watchState` hear every change then. */
  reports = false;
  private readonly listeners = new Set<(state: CellState) => void>();

  change(changes: Partial<CellState>): void {
    this.state = { ...this.state, ...changes };
    if (this.reports) for (const listener of this.listeners) listener(this.now());
  }

  get watched(): boolean {
    return this.listeners.size > 0;
  }

  advance(): void {
    this.change({ frameEpoch: this.state.frameEpoch + 1 });
  }

  get decisions(): AuditEntry[] {
    return this.entries.filter((entry) => entry.action === "decision");
  }

  rejudge(): Rejudgement {
    return rejudgeEntries(this.entries);
  }

  loop(options: Partial<LoopOptions> = {}): DecisionLoop {
    return new DecisionLoop(this.ports(), { ...defaultLoopOptions(cameras), ...quick, ...options });
  }

  now(): CellState {
    return { ...this.state, stopLatched: this.latch.latched, readAtS: systemClock.now() };
  }

  private ports(): LoopPorts {
    const registry = new SkillRegistry(
      skillNames.map((name) => ({
        name,
        summary: name,
        timeLimitS: 20,
        run: async (context: SkillContext) => {
          this.ran.push(name);
          return this.programs[name](context, this);
        },
      })),
    );
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const cell = this;
    return {
      clock: systemClock,
      get reasoner() {
        return cell.reasoner;
      },
      skills: registry,
      latch: this.latch,
      watchState: (listener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
      audit: {
        append: async (actor, action, data) => {
          if (this.diskFull) throw new CellError("AUDIT_WRITE", "disk full");
          this.entries.push({
            seq: this.entries.length + 1,
            stream: "test",
            monotonicS: systemClock.now(),
            wall: "",
            actor,
            action,
            data: JSON.parse(canonicalJson(data)),
            prev: "",
            hash: "",
          });
        },
      },
      observe: async (cycle) => {
        this.observed++;
        this.onObserve?.(cycle);
        const state = this.now();
        const { sharp, exposureInBand, needleVisible } = this.visual;
        const usable = sharp === true && exposureInBand === true && needleVisible === true;
        const observation = makeObservation({
          query: "implant three electrodes",
          frames: goodFrames(systemClock.now()).filter(({ camera }) => state.camerasOnline[camera] === true),
          state,
          visual: { ...this.visual, usable },
        });
        return { observation, images: [], release: () => this.released++ };
      },
      readState: async () => this.now(),
      stop: async () => {
        this.stops++;
      },
      isTerminal: (state) => state.targetsLeft === 0 && state.needleOutOfTissue === true,
      goal: "three electrodes are in",
      emit: (event) => this.events.push(event),
    };
  }
}

const quick: Partial<LoopOptions> = {
  refusalPauseS: 0.001,
  guardPeriodS: 0.005,
  operatorWaitS: 0.2,
  reasonerBudgetS: 0.2,
};

/** Answers what `say` returns; undefined hangs. */
export const scripted = (say: (observation: Observation, n: number) => string | undefined): Reasoner => {
  let n = 0;
  return {
    name: "script",
    infer: (observation): Promise<Reply> => {
      const text = say(observation, n++);
      if (text === undefined) return new Promise(() => undefined);
      return Promise.resolve({
        text,
        finishReason: "stop",
        observationId: observation.id,
        observationHash: observation.hash,
        receivedAtS: systemClock.now(),
      });
    },
  };
};

/** Waits until `test` holds; the test runner's own limit ends it otherwise. */
export async function until(test: () => boolean): Promise<void> {
  while (!test()) await systemClock.sleep(0.002);
}
