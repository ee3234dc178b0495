/**
 * Client of the controller's Modbus server (TCP 502): state as another part of the controller tells it, read at a few
 * hertz. It checks what RTDE says and never controls anything. One request in flight; after any error the connection is
 * dropped, so that a late answer is never taken for the answer to the next request.
 */
import modbus from "modbus-serial";
import { monotonicNow } from "../../base/clock.js";
import { asCellError, CellError } from "../../base/errors.js";
import { modbusRegister as at, signedRegister } from "./codec/modbus-map.js";
import { openSocket } from "./link.js";

export interface ModbusState {
  /** Monotonic times between which the values were read, s. */
  readonly askedS: number;
  readonly answeredS: number;
  readonly robotMode: number;
  readonly powerOn: boolean;
  readonly protectiveStopped: boolean;
  readonly emergencyStopped: boolean;
  /** rad, whole turns included; read together, so that angle and turns belong to each other. */
  readonly q: readonly number[];
}

// The package is CommonJS: its class is the default export of the default export.
const { default: ModbusRTU } = modbus;
type ModbusRTU = InstanceType<typeof ModbusRTU>;

/** Modbus TCP has no bus behind its address: 255 is what the application protocol advises. */
const unit = 255;

export class UrModbusClient {
  private client: ModbusRTU | undefined;
  /** Aborted when the present connection is gone: the library leaves a request unanswered that it was destroyed under. */
  private gone = new AbortController();

  constructor(
    private readonly host: string,
    private readonly port: number,
    private readonly replyLimitS: number,
  ) {}

  get connected(): boolean {
    return this.client?.isOpen ?? false;
  }

  /** @throws CellError LINK_CONNECT, LINK_TIMEOUT, LINK_CLOSED, LINK_PROTOCOL, DEVICE_REFUSED, LINK_ABORTED */
  async read(signal?: AbortSignal): Promise<ModbusState> {
    try {
      const client = await this.ensure(signal);
      const askedS = monotonicNow();
      const status = await this.registers(client, at.ROBOT_MODE, at.SAFETY_SIGNAL - at.ROBOT_MODE + 1);
      const joints = await this.registers(client, at.JOINT_ANGLES, at.JOINT_TURNS + 6 - at.JOINT_ANGLES);
      const flag = (register: number): number => status[register - at.ROBOT_MODE] ?? NaN;
      return {
        askedS,
        answeredS: monotonicNow(),
        robotMode: flag(at.ROBOT_MODE),
        powerOn: flag(at.POWER_ON) !== 0,
        protectiveStopped: flag(at.PROTECTIVE_STOPPED) !== 0,
        emergencyStopped: flag(at.EMERGENCY_STOPPED) !== 0,
        q: [0, 1, 2, 3, 4, 5].map((i) => {
          const mrad = signedRegister(joints[i] ?? NaN);
          const turns = signedRegister(joints[at.JOINT_TURNS - at.JOINT_ANGLES + i] ?? NaN);
          return mrad / 1e3 + turns * 2 * Math.PI;
        }),
      };
    } catch (error) {
      this.close();
      throw asCellError(error);
    }
  }

  close(): void {
    const { client } = this;
    this.client = undefined;
    this.gone.abort();
    client?.destroy(() => undefined);
  }

  private async ensure(signal?: AbortSignal): Promise<ModbusRTU> {
    if (this.client?.isOpen) return this.client;
    this.close();
    const socket = await openSocket(this.host, this.port, this.replyLimitS, "UR Modbus", signal);
    // The library's own listeners come with the client; an error before them must not end the process.
    socket.on("error", () => socket.destroy());
    const client = new ModbusRTU();
    this.gone = new AbortController();
    await client.linkTCP(socket, { port: this.port });
    client.setID(unit);
    client.setTimeout(this.replyLimitS * 1e3);
    client.on("error", () => this.close());
    this.client = client;
    return client;
  }

  private async registers(client: ModbusRTU, first: number, count: number): Promise<number[]> {
    const what = `UR Modbus: registers ${first} to ${first + count - 1}`;
    try {
      const { data } = await whileOpen(client.readHoldingRegisters(first, count), this.gone.signal);
      if (data.length !== count) {
        throw new CellError("LINK_PROTOCOL", `${what}: ${data.length} values came`);
      }
      return data;
    } catch (error) {
      if (error instanceof CellError) throw error;
      const failure = error as {
        readonly name?: unknown;
        readonly modbusCode?: unknown;
        readonly message?: unknown;
      };
      const text = `${what}: ${String(failure.message ?? error)}`;
      if (typeof failure.modbusCode === "number")
        throw new CellError("DEVICE_REFUSED", text, { cause: error });
      if (failure.name === "TransactionTimedOutError")
        throw new CellError("LINK_TIMEOUT", text, { cause: error });
      throw new CellError("LINK_CLOSED", text, { cause: error });
    }
  }
}

/** The work's result, or an error as soon as the connection is gone. */
async function whileOpen<T>(work: Promise<T>, gone: AbortSignal): Promise<T> {
  let end: (() => void) | undefined;
  const closed = new Promise<never>((_, reject) => {
    end = () => reject(new CellError("LINK_CLOSED", "UR Modbus: the connection was closed"));
    if (gone.aborted) end();
    else gone.addEventListener("abort", end, { once: true });
  });
  try {
    return await Promise.race([work, closed]);
  } finally {
    if (end) gone.removeEventListener("abort", end);
  }
}
