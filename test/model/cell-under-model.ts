/**
 * The real state machine as the model sees it: authority (lease, epochs, doubled calls), stop latch, gate and decision loop,
 * joined as the daemon joins them, in stepped time, with a disk and a skill that do what the test says. The daemon's lives
 * are objects: a crash drops one and leaves what it had moving.
 */
import { CellError } from "../../src/base/errors.js";
import type { Clock } from "../../src/base/clock.js";
import { makeObservation } from "../../src/agent/perception/observation.js";
import { decisionAction, type DecisionRecord } from "../../src/agent/loop/decision-record.js";
import { DecisionLoop } from "../../src/agent/loop/decision-loop.js";
import { defaultLoopOptions, type LoopPorts } from "../../src/agent/loop/ports.js";
import { Skill, skillNames } from "../../src/agent/safety/skill-names.js";
import { StopLatch } from "../../src/agent/safety/stop-latch.js";
import { SkillRegistry } from "../../src/agent/skills/registry.js";
import { Authority } from "../../src/service/command/authority.js";
import { cameras, goodFrames, goodState, goodVisual } from "../agent/fixtures.js";

const leaseS = 10;

/** Time that moves only when told to; what sleeps beyond that sleeps for ever. */
class SteppedClock implements Clock {
  private nowS = 1000;
  now(): number {
    return this.nowS;
  }
  advance(byS: number): void {
    this.nowS += byS;
  }
  sleep(_durationS: number, signal?: AbortSignal): Promise<void> {
    return new Promise((_, reject) => {
      const fail = (): void => reject(new CellError("LINK_ABORTED", "a wait was cancelled"));
      if (signal?.aborted === true) fail();
      else signal?.addEventListener("abort", fail, { once: true });
    });
  }
}

export type MessageKind = "start" | "go" | "reset";

interface Message {
  readonly kind: MessageKind;
  readonly epoch: number;
  readonly id: number;
}

interface Held {
  readonly resolve: () => void;
  readonly reject: (error: CellError) => void;
}

/** One life of the daemon. */
class Life {
  readonly authority: Authority;
  readonly latch = new StopLatch();
  readonly ending = new AbortController();
  loop: DecisionLoop | undefined;
  /** The decision that is on its way to the disk. */
  held: Held | undefined;
  finishSkill: (() => void) | undefined;
  dead = false;

  constructor(start: number) {
    this.authority = new Authority(leaseS, start);
  }
}

export type Phase = "down" | "idle" | "waiting" | "deciding" | "moving_" | "stopped";

export class CellUnderModel {
  moving = false;
  frozen = false;
  full = false;
  latchOnDisk = false;
  /** What was moved although it must not. */
  readonly wrongs: string[] = [];
  motions = 0;
  private readonly clock = new SteppedClock();
  private starts = 0;
  private life: Life | undefined;
  private readonly known = [0, 0];
  private readonly slots: (Message | undefined)[] = [undefined, undefined];
  private nextId = 0;
  private commanded: number | undefined;
  private readonly executed = new Set<number>();

  constructor() {
    this.restart();
  }

  phase(): Phase {
    const { life } = this;
    if (life === undefined) return "down";
    switch (life.loop?.status().state) {
      case undefined:
      case "completed":
      case "failed":
        return "idle";
      case "waiting_operator":
        return "waiting";
      case "stopped":
        return "stopped";
      default:
        return life.held !== undefined ? "deciding" : "moving_";
    }
  }

  get latched(): boolean {
    return this.life?.latch.latched ?? false;
  }

  /** 0 or 1; 2 for nobody. */
  get holder(): number {
    const status = this.life?.authority.lease.status(this.clock.now());
    return status === undefined || status === null ? 2 : Number(status.client);
  }

  // What clients and link do.

  acquire(client: number): void {
    const lease = this.life?.authority.lease;
    if (lease === undefined) return;
    const other = this.holder !== 2 && this.holder !== client;
    if (other) {
      try {
        lease.acquire(String(client), this.clock.now());
        this.wrongs.push("a lease was granted although another client held it");
      } catch (error) {
        if (!(error instanceof CellError) || error.code !== "LEASE_DENIED") throw error;
      }
    }
    this.known[client] = lease.acquire(String(client), this.clock.now(), other);
  }

  expire(): void {
    this.clock.advance(leaseS + 0.001);
  }

  send(kind: MessageKind, slot: number, client: number): void {
    this.slots[slot] = { kind, epoch: this.known[client] ?? 0, id: this.nextId++ };
  }

  lose(slot: number): void {
    this.slots[slot] = undefined;
  }

  double(slot: number): void {
    this.slots[1 - slot] = this.slots[slot];
  }

  async deliver(slot: number): Promise<void> {
    const message = this.slots[slot];
    this.slots[slot] = undefined;
    const { life } = this;
    if (life === undefined || message === undefined) return;
    try {
      // An epoch below one was never granted: the socket's schema refuses it before anything else.
      if (message.epoch < 1) throw new CellError("LEASE_DENIED", "no epoch");
      const by = life.authority.admit(message.epoch, message.id, this.clock.now());
      await this.handle(life, message, by);
    } catch (error) {
      if (!(error instanceof CellError) || error.category === "software") throw error;
    }
  }

  private async handle(life: Life, { kind, id }: Message, by: string): Promise<void> {
    const running = life.loop !== undefined && this.phase() !== "idle";
    if (kind === "start") {
      if (running || life.latch.latched || this.full) throw new CellError("COMMAND_INVALID", "not now");
      this.begin(life);
    } else if (kind === "go") {
      if (!running || life.loop === undefined) throw new CellError("COMMAND_INVALID", "no procedure runs");
      life.loop.choose(Skill.registration, by);
      this.commanded = id;
    } else if (running) await life.loop?.reset(by);
    else {
      const { stopNumber } = life.latch.state;
      life.latch.reset({ stopNumber, by }, { stopReleased: true, selfCheckOk: true });
    }
  }

  // What happens to the daemon and around it.

  async stop(): Promise<void> {
    const { life } = this;
    if (life === undefined) return;
    if (life.loop !== undefined && this.phase() !== "idle") await life.loop.stop("a stop", "anybody");
    else {
      life.latch.engage("a stop", this.clock.now());
      this.moving = false;
    }
    life.held?.resolve();
    life.held = undefined;
  }

  writeLatch(): void {
    this.latchOnDisk = this.latched;
  }

  recorded(): void {
    this.life?.held?.resolve();
    if (this.life !== undefined) this.life.held = undefined;
  }

  notRecorded(): void {
    this.life?.held?.reject(new CellError("AUDIT_WRITE", "disk full"));
    if (this.life !== undefined) this.life.held = undefined;
  }

  finish(): void {
    this.life?.finishSkill?.();
  }

  crash(): void {
    const { life } = this;
    this.life = undefined;
    if (life === undefined) return;
    life.dead = true;
    life.ending.abort(new CellError("LINK_ABORTED", "crashed"));
    life.held?.reject(new CellError("AUDIT_WRITE", "crashed"));
  }

  restart(): void {
    const life = new Life(++this.starts);
    if (this.latchOnDisk) life.latch.engage("latched before", this.clock.now());
    life.latch.onChange = ({ latched }) => {
      if (!latched && !life.dead) this.latchOnDisk = false;
    };
    this.life = life;
  }

  /** Ends what is under way, so that nothing is left behind. */
  end(): void {
    this.crash();
  }

  private begin(life: Life): void {
    const options = { ...defaultLoopOptions(cameras), refusalBudget: 1 };
    const loop = new DecisionLoop(this.ports(life), options);
    life.loop = loop;
    loop.run(life.ending.signal).catch((error: unknown) => this.wrongs.push(String(error)));
  }

  private ports(life: Life): LoopPorts {
    const { clock } = this;
    const state = (): ReturnType<typeof goodState> =>
      goodState(clock.now(), { stopLatched: life.latch.latched, targetsLeft: 1, registered: false });
    return {
      clock,
      latch: life.latch,
      // Never a legal reply: what moves, moves on a person's command.
      reasoner: {
        name: "silent",
        infer: (observation) =>
          Promise.resolve({
            ...{ text: "", finishReason: "stop", observationId: observation.id },
            ...{ observationHash: observation.hash, receivedAtS: clock.now() },
          }),
      },
      skills: new SkillRegistry(
        skillNames.map((name) => ({
          name,
          summary: name,
          timeLimitS: 1e9,
          run: ({ signal }) =>
            new Promise((resolve) => {
              if (life.dead) return;
              this.motionBegins(life);
              const finished = (): void => {
                if (!life.dead) this.moving = false;
                resolve({ status: "succeeded", detail: "" });
              };
              life.finishSkill = finished;
              signal.addEventListener("abort", finished, { once: true });
            }),
        })),
      ),
      audit: {
        append: (_actor, action, data) => {
          if (this.full) return Promise.reject(new CellError("AUDIT_WRITE", "disk full"));
          if (action !== decisionAction || !(data as DecisionRecord).allowed) return Promise.resolve();
          return new Promise<void>((resolve, reject) => {
            life.held = { resolve, reject };
          });
        },
      },
      observe: () => {
        const takenAtS = clock.now() - (this.frozen ? 100 : 0);
        const parts = {
          ...{ query: "", frames: goodFrames(takenAtS), visual: goodVisual() },
          state: { ...state(), readAtS: takenAtS },
        };
        return Promise.resolve({
          observation: makeObservation(parts),
          images: [],
          release: () => undefined,
        });
      },
      readState: () => Promise.resolve(state()),
      stop: () => {
        if (!life.dead) this.moving = false;
        return Promise.resolve();
      },
      isTerminal: () => false,
      goal: "none",
      emit: () => undefined,
    };
  }

  private motionBegins(life: Life): void {
    this.motions++;
    this.moving = true;
    const id = this.commanded ?? -1;
    if (life !== this.life) this.wrongs.push("a dead daemon moved");
    if (life.latch.latched) this.wrongs.push("moved while a stop was latched");
    if (this.frozen) this.wrongs.push("moved on a stale observation");
    if (this.executed.has(id)) this.wrongs.push(`command ${id} was executed twice`);
    this.executed.add(id);
  }
}
