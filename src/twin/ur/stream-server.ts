/**
 * Primary, secondary and realtime ports: each sends its stream and (but for the read-only twins) takes URScript and the
 * few words that the controller understands on its own.
 */
import type { Socket } from "node:net";
import { createHash } from "node:crypto";
import { ByteWriter } from "../../cell/ur/codec/bytes.js";
import { encodeRealtime } from "../../cell/ur/codec/realtime.js";
import { encodeRobotState } from "../../cell/ur/codec/primary.js";
import { encodeRobotMessage, reportLevel, type RobotMessage } from "../../cell/ur/codec/robot-message.js";
import { toPose, type DhTable } from "./arm-geometry.js";
import { ClientSet } from "../client-set.js";
import type { ControllerModel } from "./controller-model.js";
import { ScriptText } from "./script-text.js";
import { newerState, type StreamQuirks } from "./stream-quirks.js";

export type StreamKind = "primary" | "secondary" | "realtime";

/** Bytes waiting in the process beyond which a client loses packets. */
const backlogBytes = 1 << 16;

export class StreamServer {
  readonly listener: ClientSet;

  constructor(
    host: string,
    port: number,
    private readonly kind: StreamKind,
    private readonly readOnly: boolean,
    private readonly model: () => ControllerModel,
    private readonly isLocal: () => boolean,
    private readonly quirks: StreamQuirks,
  ) {
    this.listener = new ClientSet(host, port, (socket) => {
      this.accept(socket);
    });
  }

  private accept(socket: Socket): void {
    if (this.kind !== "realtime") {
      socket.write(this.message(this.versionMessage()));
      socket.write(this.state(true));
    }
    const text = new ScriptText();
    // A connection made in local mode stays read-only: after the switch to remote it must be opened anew.
    const bornReadOnly = this.readOnly || this.isLocal();
    socket.on("data", (chunk) => {
      try {
        const programs = text.push(chunk.toString("latin1"));
        for (const program of programs) this.take(socket, program, bornReadOnly || this.isLocal());
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        socket.destroy();
      }
    });
  }

  private take(socket: Socket, program: string, readOnly: boolean): void {
    if (readOnly) {
      if (this.kind === "realtime") return;
      const text = "the connection is read-only";
      socket.write(this.message({ kind: "error", code: 210, argument: 0, level: reportLevel.WARNING, text }));
      return;
    }
    if (this.quirks.scriptsIgnored) return;
    const model = this.model();
    switch (program.trim()) {
      case "power on":
        model.powerOn();
        return;
      case "power off":
        model.powerOff();
        return;
      case "set robotmode run":
        model.releaseBrakes();
        return;
      case "set unlock protective stop":
        model.unlockProtectiveStop();
        return;
      case "stop program":
        model.stopProgram();
        return;
      default:
        model.runScript(program);
    }
  }

  /** Messages go to the primary stream only. */
  say(message: RobotMessage): void {
    if (this.kind === "primary") this.broadcast(this.message(message));
  }

  afterStep(fresh: boolean): void {
    if (!fresh || this.listener.sockets.size === 0) return;
    const model = this.model();
    if (this.kind === "realtime") this.broadcast(this.realtime());
    else if (model.steps % Math.round(0.1 / model.stepS) === 0) {
      this.broadcast(this.state(model.steps % Math.round(1 / model.stepS) === 0));
    }
  }

  private broadcast(bytes: Buffer): void {
    for (const socket of this.listener.sockets) {
      if (socket.writableLength < backlogBytes) socket.write(bytes);
    }
  }

  private versionMessage(): RobotMessage {
    const { software, softwareDate } = this.model().firmware;
    return { kind: "version", project: "URControl", version: software, date: softwareDate };
  }

  private message(message: RobotMessage): Buffer {
    // The version message carries no time: all ones, as field reports of client libraries show.
    const timeUs = message.kind === "version" ? -1n : BigInt(Math.round(this.model().timeS * 1e6));
    return encodeRobotMessage(message, timeUs);
  }

  /** @param whole with the arm's geometry and configuration, which not every message carries. */
  private state(whole: boolean): Buffer {
    const model = this.model();
    const { arm, firmware } = model;
    const own = firmware.geometry;
    const { limits } = firmware;
    const six = <T>(value: T): T[] => [value, value, value, value, value, value];
    const packet = encodeRobotState(
      {
        mode: {
          timestampUs: BigInt(Math.round(model.timeS * 1e6)),
          powerOn: model.powered,
          emergencyStopped: model.emergencyStopped,
          protectiveStopped: model.protectiveStopped,
          programRunning: model.programRunning,
          programPaused: model.paused,
          robotMode: model.robotMode,
          targetSpeedFraction: arm.speedFraction,
          speedScaling: arm.speedScaling,
        },
        wrench: model.sensor.wrench,
        joints: { q: arm.q, targetQ: arm.q, qd: arm.qd, modes: six(model.jointMode) },
        safetyMode: model.safetyMode,
        digitalInputs: model.registers.digitalInputs,
        digitalOutputs: model.registers.digitalOutputs,
        cartesian: { tcp: toPose(arm.tool), tcpOffset: arm.tcpOffset },
        ...(whole
          ? {
              kinematics: { checksum: checksums(own), ...own, calibrationStatus: 0 },
              configuration: {
                jointLimits: six<[number, number]>([-limits.jointPositionRad, limits.jointPositionRad]),
                jointSpeedAndAcceleration: six<[number, number]>([
                  limits.jointSpeedRadS,
                  limits.jointAccelerationRadS2,
                ]),
                kinematics: firmware.nominal,
                robotType: 1,
              },
            }
          : {}),
      },
      firmware.software,
    );
    return this.quirks.newer ? newerState(packet) : packet;
  }

  private realtime(): Buffer {
    const model = this.model();
    const { arm, registers } = model;
    const tcp = toPose(arm.tool);
    const tcpSpeed = arm.toolTwist;
    const mode = model.jointMode;
    return encodeRealtime(
      {
        timeS: model.timeS,
        targetQ: arm.q,
        targetQd: arm.qd,
        q: arm.q,
        qd: arm.qd,
        tcp,
        tcpSpeed,
        tcpForce: model.sensor.wrench,
        targetTcp: tcp,
        targetTcpSpeed: tcpSpeed,
        digitalInputs: BigInt(registers.digitalInputs),
        digitalOutputs: BigInt(registers.digitalOutputs),
        robotMode: model.robotMode,
        jointModes: [mode, mode, mode, mode, mode, mode],
        safetyMode: model.safetyMode,
        speedScaling: arm.speedScaling,
        programState: model.runtimeState,
      },
      this.quirks.realtimeBytes || model.firmware.realtimeBytes,
    );
  }
}

/** One number per joint that changes with its parameters: what clients tell calibrations apart by. */
const checksums = ({ theta, a, d, alpha }: DhTable): number[] =>
  theta.map((turn, i) => {
    const row = new ByteWriter(32).f64s([turn, a[i] ?? 0, d[i] ?? 0, alpha[i] ?? 0]).finish();
    return createHash("sha256").update(row).digest().readUInt32BE(0);
  });
