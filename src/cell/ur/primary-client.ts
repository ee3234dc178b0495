/**
 * Primary client (TCP 30001): learns the version and the arm's own geometry, hears messages and errors, and carries
 * programs to the controller. Always drained; unknown packets are skipped.
 */
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { asCellError, CellError } from "../../base/errors.js";
import {
  decodeRobotState,
  PrimaryFramer,
  primaryType,
  type ConfigurationData,
  type KinematicsData,
} from "./codec/primary.js";
import { decodeRobotMessage, type RobotMessage } from "./codec/robot-message.js";
import type { SoftwareVersion } from "./codec/version.js";
import { Condition, openSocket } from "./link.js";

interface Events {
  message: [RobotMessage];
  closed: [CellError];
}

export class PrimaryClient extends EventEmitter<Events> {
  version: SoftwareVersion | undefined;
  kinematics: KinematicsData | undefined;
  configuration: ConfigurationData | undefined;

  private socket: Socket | undefined;
  private readonly changed = new Condition();

  constructor(
    private readonly host: string,
    private readonly port: number,
  ) {
    super();
  }

  get connected(): boolean {
    return this.socket !== undefined && !this.socket.destroyed;
  }
  /** Address of this computer as the controller sees it. */
  get localAddress(): string | undefined {
    return this.socket?.localAddress;
  }

  /** Waits for the version message, which comes first. */
  async connect(limitS: number, signal?: AbortSignal): Promise<void> {
    if (this.connected) return;
    this.version = undefined;
    this.kinematics = undefined;
    const socket = await openSocket(this.host, this.port, limitS, "UR primary interface", signal);
    const framer = new PrimaryFramer();
    let failure: CellError | undefined;
    this.socket = socket;
    socket.on("data", (chunk) => {
      try {
        for (const packet of framer.push(chunk)) this.take(packet.type, packet.body);
      } catch (error) {
        failure ??= asCellError(error);
        socket.destroy();
      }
    });
    socket.on("error", (error) => {
      failure ??= new CellError("LINK_CLOSED", `UR primary interface: ${error.message}`, { cause: error });
    });
    socket.on("close", () => {
      failure ??= new CellError("LINK_CLOSED", "UR primary interface: the controller closed the connection");
      if (this.socket === socket) this.socket = undefined;
      this.emit("closed", failure);
      this.changed.check();
    });
    await this.changed.until(
      () => {
        if (failure) throw failure;
        return this.version;
      },
      limitS,
      "UR primary interface: version message",
      signal,
    );
  }

  /** The arm's own parameters; the controller sends them about once a second. @throws CellError LINK_TIMEOUT, LINK_CLOSED */
  waitForKinematics(limitS: number, signal?: AbortSignal): Promise<KinematicsData> {
    return this.changed.until(
      () => {
        if (this.kinematics) return this.kinematics;
        if (!this.connected) throw new CellError("LINK_CLOSED", "UR primary interface: not connected");
        return undefined;
      },
      limitS,
      "UR primary interface: kinematics",
      signal,
    );
  }

  /** Sends a program at once. False when there is no connection. */
  sendProgram(text: string): boolean {
    const { socket } = this;
    if (!socket || socket.destroyed) return false;
    socket.write(text.endsWith("\n") ? text : `${text}\n`);
    return true;
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private take(type: number, body: Buffer): void {
    if (type === primaryType.ROBOT_STATE) {
      const state = decodeRobotState(body);
      if (state.kinematics) this.kinematics = state.kinematics;
      if (state.configuration) this.configuration = state.configuration;
    } else if (type === primaryType.ROBOT_MESSAGE) {
      const message = decodeRobotMessage(body);
      if (message.kind === "version") this.version = message.version;
      this.emit("message", message);
    } else return;
    this.changed.check();
  }
}
