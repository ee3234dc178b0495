/**
 * RTDE client (TCP 30004): version 2, else 1; a decoder built from the types the controller returned; the newest sample
 * only. Any loss, a clock that runs backwards or silence leads to a new connection with a full handshake, for ever, until
 * closed. Inputs are set up per function, so that one field that is in use does not take the others along.
 */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { asCellError, CellError } from "../../base/errors.js";
import { monotonicNow } from "../../base/clock.js";
import { ByteReader, ByteWriter, excerpt } from "./codec/bytes.js";
import {
  decodeMessage,
  encodeFrame,
  type RecipeCodec,
  RtdeFramer,
  rtdePackage,
  type RtdeFrame,
  type RtdeMessage,
  type RtdeValue,
  type RtdeVersion,
} from "./codec/rtde.js";
import type { SoftwareVersion } from "./codec/version.js";
import { ControllerClock } from "./controller-clock.js";
import { Condition, openSocket, silent, type Log } from "./link.js";
import { readInputTypes, readOutputTypes } from "./rtde-recipes.js";

export interface RtdeOptions {
  readonly host: string;
  readonly port: number;
  /** Versions to offer, in order. */
  readonly versions: readonly RtdeVersion[];
  readonly frequencyHz: number;
  readonly required: readonly string[];
  /** Dropped from the recipe where the firmware does not know them. */
  readonly optional: readonly string[];
  /** Deadline of each step of the handshake. */
  readonly replyLimitS: number;
  /** Silence after which the connection is given up. */
  readonly silenceLimitS: number;
  readonly retryS: number;
  readonly log: Log;
}

export const rtdeDefaults = {
  versions: [2, 1],
  frequencyHz: 125,
  optional: [],
  replyLimitS: 3,
  silenceLimitS: 2,
  retryS: 0.25,
  log: silent,
} as const satisfies Partial<RtdeOptions>;

export interface RtdeSample {
  readonly values: ReadonlyMap<string, RtdeValue>;
  /** Controller time, s. */
  readonly timestampS: number;
  /** Monotonic time at which this state was true, as near as it is known: packets that waited in a buffer are as old as they are. */
  readonly measuredS: number;
}

interface Session {
  readonly socket: Socket;
  readonly framer: RtdeFramer;
  version: RtdeVersion;
  recipe: { readonly names: readonly string[]; readonly codec: RecipeCodec } | undefined;
  waiting: { readonly type: number; readonly resolve: (payload: Buffer) => void } | undefined;
  ended: CellError | undefined;
}

interface InputRecipe {
  readonly names: readonly string[];
  id: number;
  codec: RecipeCodec | undefined;
}

interface Events {
  sample: [RtdeSample];
  /** The link came up or went down. */
  link: [connected: boolean, reason: CellError | undefined];
  message: [RtdeMessage];
  /** The controller's clock went backwards: it was restarted. */
  restart: [];
}

export class RtdeClient extends EventEmitter<Events> {
  /** Version of the controller's software, once known. */
  controllerVersion: SoftwareVersion | undefined;
  /** Fields that the firmware does not know. */
  missing: readonly string[] = [];
  lateReplies = 0;

  private session: Session | undefined;
  private newest: RtdeSample | undefined;
  private readonly clock = new ControllerClock();
  private lastReceivedS = 0;
  private readonly changed = new Condition();
  private readonly inputs: InputRecipe[] = [];
  private abort: AbortController | undefined;
  private loop: Promise<void> | undefined;
  private lastError: CellError | undefined;

  constructor(private readonly options: RtdeOptions) {
    super();
  }

  get connected(): boolean {
    return this.session !== undefined && this.session.ended === undefined && this.newest !== undefined;
  }
  get protocolVersion(): RtdeVersion | undefined {
    return this.session?.version;
  }
  /** The newest sample of the present connection. */
  get latest(): RtdeSample | undefined {
    return this.newest;
  }
  /** Seconds since the newest sample was true; Infinity when there is none. */
  get ageS(): number {
    return this.newest ? Math.max(0, monotonicNow() - this.newest.measuredS) : Infinity;
  }

  /** Starts to connect and waits for the first sample. @throws CellError with the reason of the last failed attempt */
  async connect(limitS: number, signal?: AbortSignal): Promise<RtdeSample> {
    if (!this.loop) {
      this.abort = new AbortController();
      this.loop = this.run(this.abort.signal);
    }
    try {
      const { host, port } = this.options;
      return await this.changed.until(
        () => this.newest,
        limitS,
        `UR RTDE at ${host}:${port}: first sample`,
        signal,
      );
    } catch (error) {
      const failure = asCellError(error);
      throw failure.code === "LINK_TIMEOUT" && this.lastError ? this.lastError : failure;
    }
  }

  async close(): Promise<void> {
    this.abort?.abort();
    this.session?.socket.destroy();
    await this.loop;
    this.loop = undefined;
  }

  /** Re-evaluates every wait after something outside has changed. */
  wake(): void {
    this.changed.check();
  }

  /** Waits for a state of the newest sample. */
  until<T>(
    ready: (sample: RtdeSample | undefined) => T | undefined,
    limitS: number,
    what: string,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.changed.until(() => ready(this.newest), limitS, what, signal);
  }

  /**
   * Claims input fields; the handle sends values for them, on this and on every later connection.
   * @throws CellError LINK_BUSY naming the fields in use, DEVICE_REFUSED for unknown ones
   */
  async claimInputs(names: readonly string[]): Promise<(values: readonly RtdeValue[]) => boolean> {
    if (names.length === 0) throw new CellError("INTERNAL", "an empty input recipe is never answered");
    const recipe: InputRecipe = { names, id: 0, codec: undefined };
    const { session } = this;
    if (!session) throw new CellError("LINK_CLOSED", "UR RTDE: not connected");
    await this.setUpInput(session, recipe);
    this.inputs.push(recipe);
    return (values) => {
      const current = this.session;
      if (!current || current.ended || !recipe.codec) return false;
      const payload = Buffer.concat([Buffer.of(recipe.id), recipe.codec.encode(values)]);
      current.socket.write(encodeFrame(rtdePackage.DATA, payload));
      return true;
    };
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let reason: CellError;
      try {
        const session = await this.open(signal);
        reason = await this.serve(session, signal);
      } catch (error) {
        reason = asCellError(error);
      }
      const was = this.newest !== undefined;
      this.session?.socket.destroy();
      this.session = undefined;
      this.newest = undefined;
      this.clock.forget();
      this.lastError = reason;
      if (signal.aborted) break;
      if (was) {
        this.options.log.warn({ reason: reason.message }, "UR RTDE link lost");
        this.emit("link", false, reason);
        this.changed.check();
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, this.options.retryS * 1e3);
        signal.addEventListener(
          "abort",
          () => {
            clearTimeout(timer);
            resolve();
          },
          { once: true },
        );
      });
    }
  }

  /** A connection with its whole handshake: V, v, O, I…, S. */
  private async open(signal: AbortSignal): Promise<Session> {
    const { host, port, replyLimitS } = this.options;
    const socket = await openSocket(host, port, replyLimitS, "UR RTDE", signal);
    const session: Session = {
      socket,
      framer: new RtdeFramer(),
      version: 1,
      recipe: undefined,
      waiting: undefined,
      ended: undefined,
    };
    this.session = session;
    const end = (error: CellError): void => {
      session.ended ??= error;
      socket.destroy();
      this.changed.check();
    };
    socket.on("error", (error) => {
      end(new CellError("LINK_CLOSED", `UR RTDE: ${error.message}`, { cause: error }));
    });
    socket.on("close", () => {
      end(new CellError("LINK_CLOSED", "UR RTDE: the controller closed the connection"));
    });
    socket.on("data", (chunk) => {
      try {
        for (const frame of session.framer.push(chunk)) this.take(session, frame);
      } catch (error) {
        end(asCellError(error));
      }
    });
    for (const version of this.options.versions) {
      const request = new ByteWriter().u16(version).finish();
      const reply = await this.request(session, rtdePackage.REQUEST_PROTOCOL_VERSION, request);
      if (reply[0] !== 1) continue;
      session.version = version;
      break;
    }
    const version = new ByteReader(await this.request(session, rtdePackage.GET_URCONTROL_VERSION));
    this.controllerVersion = {
      major: version.u32(),
      minor: version.u32(),
      bugfix: version.u32(),
      build: version.u32(),
    };
    await this.setUpOutputs(session);
    for (const recipe of this.inputs) await this.setUpInput(session, recipe);
    const started = await this.request(session, rtdePackage.START);
    if (started[0] !== 1) throw new CellError("DEVICE_REFUSED", "UR RTDE: the controller refused to start");
    return session;
  }

  private async setUpOutputs(session: Session): Promise<void> {
    const { required, optional } = this.options;
    let names = [...required, ...optional];
    this.missing = [];
    for (let attempt = 0; attempt < 2; attempt++) {
      const writer = new ByteWriter();
      if (session.version === 2) writer.f64(this.options.frequencyHz);
      const reply = await this.request(
        session,
        rtdePackage.SETUP_OUTPUTS,
        writer.text(names.join(",")).finish(),
      );
      const { codec, unknown } = readOutputTypes(names, reply, session.version);
      if (codec) {
        session.recipe = { names, codec };
        return;
      }
      const fatal = unknown.find((name) => required.includes(name));
      if (fatal !== undefined)
        throw new CellError("DEVICE_REFUSED", `UR RTDE: this firmware has no field '${fatal}'`);
      this.missing = unknown;
      names = names.filter((name) => !unknown.includes(name));
    }
    throw new CellError("LINK_PROTOCOL", "UR RTDE: the fields changed between two requests");
  }

  private async setUpInput(session: Session, recipe: InputRecipe): Promise<void> {
    const request = Buffer.from(recipe.names.join(","), "latin1");
    const reply = await this.request(session, rtdePackage.SETUP_INPUTS, request);
    const { id, codec } = readInputTypes(recipe.names, reply);
    recipe.id = id;
    recipe.codec = codec;
  }

  /** One request in flight; register, write, then wait. */
  private async request(
    session: Session,
    type: number,
    payload: Uint8Array = Buffer.alloc(0),
  ): Promise<Buffer> {
    if (session.waiting) throw new CellError("INTERNAL", "UR RTDE: two requests at once");
    let answer: Buffer | undefined;
    session.waiting = {
      type,
      resolve: (reply) => {
        answer = reply;
        this.changed.check();
      },
    };
    session.socket.write(encodeFrame(type, payload));
    try {
      return await this.changed.until(
        () => {
          if (session.ended) throw session.ended;
          return answer;
        },
        this.options.replyLimitS,
        `UR RTDE: reply to '${String.fromCharCode(type)}'`,
      );
    } finally {
      session.waiting = undefined;
    }
  }

  private take(session: Session, frame: RtdeFrame): void {
    if (frame.type === rtdePackage.TEXT_MESSAGE) {
      this.emit("message", decodeMessage(frame.payload, session.version));
    } else if (frame.type === rtdePackage.DATA) {
      this.takeData(session, frame.payload);
    } else if (session.waiting?.type === frame.type) {
      session.waiting.resolve(Buffer.from(frame.payload));
    } else this.lateReplies++;
  }

  private takeData(session: Session, payload: Buffer): void {
    const { recipe } = session;
    // Data can overtake the reply to the start request, but never the recipe.
    if (!recipe || session.ended) return;
    const decoded = recipe.codec.decode(session.version === 2 ? payload.subarray(1) : payload);
    const values = new Map<string, RtdeValue>();
    recipe.names.forEach((name, i) => {
      const value = decoded[i];
      if (value !== undefined) values.set(name, value);
    });
    const timestampS = values.get("timestamp");
    if (typeof timestampS !== "number" || !Number.isFinite(timestampS)) {
      throw new CellError("LINK_PROTOCOL", `UR RTDE: data without a timestamp: ${excerpt(payload)}`);
    }
    const before = this.newest;
    if (before && timestampS < before.timestampS) {
      this.emit("restart");
      throw new CellError(
        "LINK_CLOSED",
        `UR RTDE: the controller restarted (time ${before.timestampS} → ${timestampS} s)`,
      );
    }
    const nowS = monotonicNow();
    const measuredS = this.clock.measuredS(timestampS, nowS);
    this.lastReceivedS = nowS;
    const sample: RtdeSample = { values, timestampS, measuredS };
    this.newest = sample;
    this.emit("sample", sample);
    this.changed.check();
  }

  /** Until the connection ends; returns why. */
  private async serve(session: Session, signal: AbortSignal): Promise<CellError> {
    this.lastReceivedS = monotonicNow();
    this.options.log.info({ version: session.version, missing: this.missing }, "UR RTDE link up");
    this.emit("link", true, undefined);
    this.changed.check();
    const timer = setInterval(() => {
      const silentS = monotonicNow() - this.lastReceivedS;
      if (silentS < this.options.silenceLimitS) return;
      session.ended ??= new CellError("LINK_TIMEOUT", `UR RTDE: no data for ${silentS.toFixed(2)} s`);
      this.changed.check();
    }, 250);
    try {
      return await this.changed.until(() => session.ended, 2 ** 31 / 1e3 - 1, "UR RTDE session", signal);
    } catch (error) {
      return asCellError(error);
    } finally {
      clearInterval(timer);
    }
  }
}
