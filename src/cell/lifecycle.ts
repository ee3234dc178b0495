/** The state of a device as its driver sees it; the desired state is published beside the current one. */
import { CellError } from "../base/errors.js";

/** unconfigured → inactive (readable) → active (may move) → fault (latched) → finalized */
export type DeviceState = "unconfigured" | "inactive" | "active" | "fault" | "finalized";

export interface LifecycleStatus {
  readonly desired: "inactive" | "active" | "finalized";
  readonly current: DeviceState;
  /** Why the device is in fault. */
  readonly fault: CellError | undefined;
}

export class Lifecycle {
  private state: DeviceState = "unconfigured";
  private wish: LifecycleStatus["desired"] = "inactive";
  private reason: CellError | undefined;

  /** Called after every change. */
  onChange: (status: LifecycleStatus) => void = () => undefined;

  constructor(private readonly device: string) {}

  get status(): LifecycleStatus {
    return { desired: this.wish, current: this.state, fault: this.reason };
  }

  get current(): DeviceState {
    return this.state;
  }

  desire(wish: LifecycleStatus["desired"]): void {
    this.wish = wish;
  }

  /** A fault is left only through here, which is a person's reset. */
  enter(state: Exclude<DeviceState, "fault">): void {
    this.state = state;
    this.reason = undefined;
    this.onChange(this.status);
  }

  /** Latches a fault; the first reason stays, being the cause of the others. */
  fail(reason: CellError): void {
    if (this.state === "fault" || this.state === "finalized") return;
    this.state = "fault";
    this.reason = reason;
    this.onChange(this.status);
  }

  /** @throws CellError the latched fault, or COMMAND_INVALID in any other state than active */
  requireActive(what: string): void {
    if (this.state === "active") return;
    if (this.state === "fault" && this.reason) throw this.reason;
    throw new CellError("COMMAND_INVALID", `${this.device} is ${this.state}: ${what} needs it active`);
  }

  /**
   * Whether a first connection is to be made now.
   * @throws CellError the latched fault: the way back from it is a reset; COMMAND_INVALID once finalized
   */
  mayConnect(): boolean {
    if (this.state === "fault" && this.reason) throw this.reason;
    if (this.state === "finalized")
      throw new CellError("COMMAND_INVALID", `${this.device} was closed for good`);
    return this.state === "unconfigured";
  }

  /** @throws CellError COMMAND_INVALID unless the device can be read */
  requireReadable(what: string): void {
    if (this.state === "unconfigured" || this.state === "finalized")
      throw new CellError("COMMAND_INVALID", `${this.device} is ${this.state}: ${what} needs a connection`);
  }
}
