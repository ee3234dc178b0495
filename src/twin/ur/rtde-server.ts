/**
 * RTDE server (TCP 30004), versions 1 and 2. Data go out at control steps; a client that does not read loses cycles, and
 * is closed when it does not read for long. Inputs take effect in the step in which they arrive.
 */
import type { Socket } from "node:net";
import { CellError } from "../../base/errors.js";
import { ByteWriter } from "../../cell/ur/codec/bytes.js";
import {
  encodeFrame,
  encodeMessage,
  messageLevel,
  RecipeCodec,
  RtdeFramer,
  rtdePackage,
  splitNames,
  type RtdeFrame,
  type RtdeType,
  type RtdeValue,
  type RtdeVersion,
} from "../../cell/ur/codec/rtde.js";
import { inputType, outputType } from "../../cell/ur/codec/rtde-fields.js";
import type { ControllerModel } from "./controller-model.js";
import { ClientSet } from "../client-set.js";
import { outputValue } from "./rtde-outputs.js";
import { RtdeQuirks } from "./rtde-quirks.js";

/** Bytes waiting in the process beyond which a cycle is skipped, and how long a client may stay that way. */
const backlogBytes = 8192;

interface InputRecipe {
  readonly names: readonly string[];
  readonly codec: RecipeCodec;
}

interface OutputRecipe {
  readonly names: readonly string[];
  readonly codec: RecipeCodec;
  /** Control steps from one package to the next. */
  readonly every: number;
}

interface Client {
  readonly socket: Socket;
  readonly framer: RtdeFramer;
  version: RtdeVersion;
  output: OutputRecipe | undefined;
  readonly inputs: (InputRecipe | undefined)[];
  readonly owned: Set<string>;
  started: boolean;
  blockedSinceS: number | undefined;
}

export class RtdeServer {
  readonly listener: ClientSet;
  readonly quirks: RtdeQuirks;
  private readonly clients = new Set<Client>();

  constructor(
    host: string,
    port: number,
    slowReaderLimitS: number,
    private readonly model: () => ControllerModel,
  ) {
    this.quirks = new RtdeQuirks(slowReaderLimitS);
    this.listener = new ClientSet(host, port, (socket) => {
      this.accept(socket);
    });
  }

  private accept(socket: Socket): void {
    const client: Client = {
      socket,
      framer: new RtdeFramer(),
      version: 1,
      output: undefined,
      inputs: [],
      owned: new Set(),
      started: false,
      blockedSinceS: undefined,
    };
    this.clients.add(client);
    socket.on("close", () => this.clients.delete(client));
    if (this.quirks.messageFirst) {
      // Before the client has chosen a version, version 1 holds.
      const message = { text: "confirm the safety settings", source: "RTDE", level: messageLevel.WARNING };
      this.quirks.send(socket, encodeFrame(rtdePackage.TEXT_MESSAGE, encodeMessage(message, 1)));
    }
    socket.on("data", (chunk) => {
      try {
        for (const frame of client.framer.push(chunk)) this.handle(client, frame);
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        socket.destroy();
      }
    });
  }

  /** A text message to every client, which may come at any time. */
  say(text: string): void {
    const message = { text, source: "RTDE", level: messageLevel.WARNING };
    for (const { socket, version } of this.clients)
      this.quirks.send(socket, encodeFrame(rtdePackage.TEXT_MESSAGE, encodeMessage(message, version)));
  }

  /** RTDE alone begins anew, as it does once while the controller boots: connections drop, its time begins at zero. */
  restart(): void {
    this.listener.drop();
    this.quirks.timeShiftS = -this.model().timeS;
  }

  /** Sends what is due at the present control step; `fresh` is false for steps that are made up for after a delay. */
  afterStep(fresh: boolean): void {
    if (this.quirks.skip > 0) {
      this.quirks.skip--;
      return;
    }
    if (this.quirks.paused || !fresh) return;
    const model = this.model();
    for (const client of this.clients) {
      const { output, socket } = client;
      if (!client.started || !output || model.steps % output.every !== 0) continue;
      if (socket.writableLength > backlogBytes) {
        client.blockedSinceS ??= model.timeS;
        if (model.timeS - client.blockedSinceS > this.quirks.slowReaderS) socket.destroy();
        continue;
      }
      client.blockedSinceS = undefined;
      this.quirks.sendData(socket, this.dataPackage(client, output));
    }
  }

  private dataPackage(client: Client, output: OutputRecipe): Buffer {
    const model = this.model();
    const values = output.names.map((name, i) =>
      name === "timestamp"
        ? model.timeS + this.quirks.timeShiftS
        : outputValue(model, name, output.codec.types[i] ?? "DOUBLE"),
    );
    const body = output.codec.encode(values);
    const payload = client.version === 2 ? Buffer.concat([Buffer.of(1), body]) : body;
    return encodeFrame(rtdePackage.DATA, payload);
  }

  private handle(client: Client, frame: RtdeFrame): void {
    const { socket } = client;
    const { firmware } = this.model();
    const reply = (payload: Uint8Array): void => {
      this.quirks.send(socket, encodeFrame(frame.type, payload));
    };
    switch (frame.type) {
      case rtdePackage.REQUEST_PROTOCOL_VERSION: {
        const wanted = frame.payload.length >= 2 ? frame.payload.readUInt16BE(0) : 0;
        const known = this.quirks.onlyVersion1 ? [1 as const] : firmware.rtdeVersions;
        const version = known.find((one) => one === wanted);
        if (version !== undefined) client.version = version;
        reply(Buffer.of(version === undefined ? 0 : 1));
        break;
      }
      case rtdePackage.GET_URCONTROL_VERSION: {
        const { major, minor, bugfix, build } = firmware.software;
        reply(new ByteWriter(16).u32(major).u32(minor).u32(bugfix).u32(build).finish());
        break;
      }
      case rtdePackage.SETUP_OUTPUTS:
        this.setUpOutputs(client, frame.payload, reply);
        break;
      case rtdePackage.SETUP_INPUTS:
        this.setUpInputs(client, frame.payload, reply);
        break;
      case rtdePackage.START:
        this.start(client, reply);
        break;
      case rtdePackage.PAUSE:
        client.started = false;
        reply(Buffer.of(1));
        break;
      case rtdePackage.DATA:
        this.takeInputs(client, frame.payload);
        break;
      default:
        break;
    }
  }

  private start(client: Client, reply: (payload: Uint8Array) => void): void {
    const { output, inputs, socket } = client;
    const valid = output !== undefined || inputs.length > 0;
    const answer = Buffer.of(valid ? 1 : 0);
    const { startReply, dataFirst } = this.quirks;
    if (valid && output && dataFirst) this.quirks.send(socket, this.dataPackage(client, output));
    client.started = valid;
    if (typeof startReply === "object") {
      setTimeout(() => {
        if (!socket.destroyed) reply(answer);
      }, startReply.lateS * 1e3);
      return;
    }
    reply(answer);
    if (startReply === "twice") reply(answer);
  }

  private setUpOutputs(client: Client, payload: Buffer, reply: (payload: Uint8Array) => void): void {
    const { firmware } = this.model();
    let names = payload;
    let hertz = firmware.rtdeMaximumHz;
    if (client.version === 2) {
      if (payload.length < 8) {
        client.socket.destroy();
        return;
      }
      hertz = payload.readDoubleBE(0);
      names = payload.subarray(8);
    }
    const { notFound, recipeBytes, recipeFields } = this.quirks;
    const list = splitNames(names.subarray(0, recipeBytes).toString("latin1"));
    const types = list.map((name, i) =>
      firmware.missingOutputs.includes(name) || notFound.has(name) || i >= recipeFields
        ? undefined
        : outputType(name, firmware.software),
    );
    const known = types.filter((type): type is RtdeType => type !== undefined);
    const valid =
      list.length > 0 && known.length === list.length && hertz > 0 && hertz <= firmware.rtdeMaximumHz;
    client.output = valid
      ? {
          names: list,
          codec: new RecipeCodec(known),
          every: Math.max(1, Math.floor(firmware.rtdeMaximumHz / hertz)),
        }
      : undefined;
    const text = Buffer.from(types.map((type) => type ?? "NOT_FOUND").join(","), "latin1");
    reply(client.version === 2 ? Buffer.concat([Buffer.of(valid ? 1 : 0), text]) : text);
  }

  private setUpInputs(client: Client, payload: Buffer, reply: (payload: Uint8Array) => void): void {
    const { firmware } = this.model();
    const list = splitNames(payload.toString("latin1"));
    // The controller does not answer an empty list.
    if (list.length === 0) return;
    const others = [...this.clients].filter((other) => other !== client);
    const types = list.map((name) => {
      const type = inputType(name, firmware.software);
      if (type === undefined) return "NOT_FOUND";
      const taken = this.quirks.claimed.has(name) || others.some((other) => other.owned.has(name));
      return taken ? "IN_USE" : type;
    });
    const usable = types.filter((type): type is RtdeType => type !== "NOT_FOUND" && type !== "IN_USE");
    const valid = usable.length === list.length;
    client.inputs.push(valid ? { names: list, codec: new RecipeCodec(usable) } : undefined);
    if (valid) for (const name of list) client.owned.add(name);
    reply(
      Buffer.concat([Buffer.of(valid ? client.inputs.length : 0), Buffer.from(types.join(","), "latin1")]),
    );
  }

  private takeInputs(client: Client, payload: Buffer): void {
    const id = payload.length > 0 ? payload.readUInt8(0) : 0;
    const recipe = client.inputs[id - 1];
    // Inputs are taken whether or not the client has started its output stream.
    if (!recipe || payload.length - 1 !== recipe.codec.byteLength) {
      const text = `data for input recipe ${id} ignored`;
      const message = { text, source: "RTDE", level: messageLevel.WARNING };
      client.socket.write(encodeFrame(rtdePackage.TEXT_MESSAGE, encodeMessage(message, client.version)));
      return;
    }
    const values = recipe.codec.decode(payload.subarray(1));
    const named = new Map<string, RtdeValue>();
    recipe.names.forEach((name, i) => {
      const value = values[i];
      if (value !== undefined) named.set(name, value);
    });
    this.model().applyInputs(named);
  }
}
