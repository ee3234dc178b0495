/** A cell without devices, for tests of daemon and command socket. It does only what the test tells it. */
import { CellError } from "../../../src/base/errors.js";
import type { CellStatus } from "../../../src/service/command/protocol.js";
import type { PlanAnswer, StartAnswer } from "../../../src/service/command/service.js";
import type { Cell, SelfCheckItem } from "../../../src/service/daemon/cell.js";

export class FakeCell implements Cell {
  readonly calls: string[] = [];
  readonly status_: CellStatus = {
    cell: "fake",
    current: "inactive",
    desired: "active",
    ready: false,
    procedure: "idle",
    reason: "nothing to do",
    query: null,
    cycle: 0,
    targets: { total: 0, implanted: 0 },
    refusalsInRow: 0,
    stopLatched: false,
    faults: [],
    possible: ["start"],
    devices: [],
    recording: null,
  };
  configureErrors: CellError[] = [];
  checks: SelfCheckItem[][] = [];
  planning: Promise<PlanAnswer> | undefined;
  loseCell: (why: string) => void = () => undefined;
  finalizeHangs = false;

  private say(call: string): Promise<{ detail: string }> {
    this.calls.push(call);
    return Promise.resolve({ detail: call });
  }

  async configure(): Promise<void> {
    await this.say("configure");
    const error = this.configureErrors.shift();
    if (error !== undefined) throw error;
  }
  async selfCheck(): Promise<readonly SelfCheckItem[]> {
    await this.say("selfCheck");
    return this.checks.shift() ?? [{ name: "links", passed: true, detail: "all answer" }];
  }
  async activate(): Promise<void> {
    await this.say("activate");
  }
  async lost(): Promise<string> {
    return new Promise((resolve) => {
      this.loseCell = resolve;
    });
  }
  reconfigure(): void {
    this.calls.push("reconfigure");
  }
  async finalize(): Promise<void> {
    await this.say("finalize");
    if (this.finalizeHangs) await new Promise(() => undefined);
  }

  status(): CellStatus {
    return this.status_;
  }
  stop = (reason: string, by: string): Promise<{ detail: string }> => this.say(`stop ${reason} by ${by}`);
  plan = (): Promise<PlanAnswer> =>
    this.planning ?? Promise.reject(new CellError("VISION_UNKNOWN", "no tissue in view"));
  start = (request: { procedure: string; query: string }): Promise<StartAnswer> => {
    this.calls.push(`start ${request.procedure} ${request.query}`);
    return Promise.resolve({ recording: "/runs/1", targets: 3, detail: "started" });
  };
  override = (fault: string): Promise<{ detail: string }> => this.say(`override ${fault}`);
  home = (): Promise<{ detail: string }> => this.say("home");
  reset = (): Promise<{ detail: string }> => this.say("reset");
  confirm = (): Promise<{ detail: string }> => this.say("confirm");
  retry = (): Promise<{ detail: string }> => this.say("retry");
  choose = (skill: string): Promise<{ detail: string }> => this.say(`choose ${skill}`);
  takeover = (by: string): Promise<{ detail: string }> => this.say(`takeover ${by}`);
  handback = (): Promise<{ detail: string }> => this.say("handback");
}
