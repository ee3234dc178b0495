/** Reads the Modbus server at a few hertz and compares it with RTDE, for as long as it is running. */
import { asCellError, type CellError } from "../../base/errors.js";
import { CrossCheck } from "./cross-check.js";
import type { Log } from "./link.js";
import { UrModbusClient } from "./modbus-client.js";
import type { CrossCheckState } from "./ur-types.js";
import type { UrSample } from "./ur-sample.js";

/** Modbus is polled and tells what was so up to 0.1 s ago: more often gains nothing. */
const periodS = 0.2;
const replyLimitS = 1;

export class StateCheck {
  state: CrossCheckState = "unavailable";
  private readonly client: UrModbusClient;
  private readonly check = new CrossCheck();
  private abort: AbortController | undefined;
  private loop: Promise<void> | undefined;
  private lastLoss: string | undefined;

  constructor(
    host: string,
    port: number,
    private readonly newest: () => UrSample | undefined,
    private readonly onDifference: (what: string) => void,
    private readonly log: Log,
  ) {
    this.client = new UrModbusClient(host, port, replyLimitS);
  }

  /** Waits for the first answer: a configured server must be there. @throws CellError LINK_CONNECT … */
  async start(signal: AbortSignal): Promise<void> {
    if (this.loop) return;
    await this.client.read(signal);
    const abort = new AbortController();
    this.abort = abort;
    this.loop = this.run(abort.signal);
  }

  async stop(): Promise<void> {
    this.abort?.abort();
    this.client.close();
    await this.loop;
    this.loop = undefined;
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const before = this.newest();
      try {
        const told = await this.client.read(signal);
        const after = this.newest();
        // Without RTDE there is nothing to compare; its loss is a fault of its own.
        if (before && after) this.judge(this.check.compare(before, told, after));
      } catch (error) {
        this.lost(asCellError(error), signal);
      }
      await pause(periodS, signal);
    }
  }

  private judge(difference: string | undefined): void {
    this.lastLoss = undefined;
    this.state = difference === undefined ? "agrees" : "differs";
    if (difference !== undefined) this.onDifference(difference);
  }

  private lost(reason: CellError, signal: AbortSignal): void {
    this.check.reset();
    if (signal.aborted) return;
    this.state = "unavailable";
    if (this.lastLoss !== reason.code) this.log.warn({ reason: reason.message }, "UR Modbus link lost");
    this.lastLoss = reason.code;
  }
}

const pause = (seconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, seconds * 1e3);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
